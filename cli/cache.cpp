#include "api/cache.h"

#include "api/lockstep.hpp"
#include "cli/commands.h"
#include "cli/common.h"

namespace lockstep::cli {

int cache(const CacheOptions& o) {
  struct Kind {
    lockstep_cache which;
    const char* what;
  };
  for (const Kind kind :
       {Kind{LOCKSTEP_CACHE_COMPILED, "compiled"}, {LOCKSTEP_CACHE_TRANSLATED, "translated"}}) {
    if (o.clear) check(lockstep_cache_clear(kind.which));
    lockstep_cache_info info{};
    info.struct_size = sizeof info;
    check(lockstep_cache_get_info(kind.which, &info));
    if (*info.folder)
      print("{}\n  {} entries, {} bytes of at most {} (LOCKSTEP_CACHE_MEGABYTES)\n", info.folder,
            info.entries, info.bytes, short_bytes(info.limit_bytes));
    else
      print(
          "nothing that was {} is kept: LOCKSTEP_CACHE_MEGABYTES is 0, or the user's cache folder could be "
          "written by others\n",
          kind.what);
  }
  return kDone;
}

}  // namespace lockstep::cli
