#include "api/compile_cache.h"
#include "api/lockstep.hpp"
#include "cli/commands.h"
#include "cli/common.h"

namespace lockstep::cli {

int cache(const CacheOptions& o) {
  if (o.clear) check(lockstep_compile_cache_clear());
  lockstep_compile_cache_info info{};
  info.struct_size = sizeof info;
  check(lockstep_compile_cache_get_info(&info));
  if (!*info.folder) {
    print(
        "nothing that was compiled is kept: LOCKSTEP_CACHE_MEGABYTES is 0, or the user's cache folder could "
        "be written "
        "by others\n");
    return kDone;
  }
  print("{}\n  {} entries, {} bytes of at most {} (LOCKSTEP_CACHE_MEGABYTES)\n", info.folder, info.entries,
        info.bytes, short_bytes(info.limit_bytes));
  return kDone;
}

}  // namespace lockstep::cli
