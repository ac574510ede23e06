#include "api/compile_cache.h"

#include <optional>
#include <string>

#include "api/status.h"
#include "toolchain/compile_cache.h"

using namespace lockstep;
using namespace lockstep::api;

namespace {

std::optional<toolchain::CompileCache> open_cache() {
  std::string error;
  std::optional<toolchain::CompileCache> cache = toolchain::CompileCache::open(error);
  if (!error.empty()) throw Failure(LOCKSTEP_INVALID_ARGUMENT, error);
  return cache;
}

}  // namespace

lockstep_status lockstep_compile_cache_get_info(lockstep_compile_cache_info* out) {
  return guarded([&] {
    thread_local std::string folder;
    lockstep_compile_cache_info info{};
    folder.clear();
    if (const auto cache = open_cache()) {
      const toolchain::CompileCache::Contents contents = cache->contents();
      folder = cache->folder().string();
      info.entries = contents.entries;
      info.bytes = contents.bytes;
      info.limit_bytes = cache->limit_bytes();
    }
    info.folder = folder.c_str();
    give(out, info);
  });
}

lockstep_status lockstep_compile_cache_clear() {
  return guarded([] {
    if (const auto cache = open_cache()) cache->clear();
  });
}
