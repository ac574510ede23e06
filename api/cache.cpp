#include "api/cache.h"

#include <memory>
#include <string>

#include "api/status.h"
#include "cache/store.h"

using namespace lockstep;
using namespace lockstep::api;

namespace {

std::unique_ptr<cache::Store> open_store(lockstep_cache which) {
  if (which != LOCKSTEP_CACHE_COMPILED && which != LOCKSTEP_CACHE_TRANSLATED)
    throw Failure(LOCKSTEP_INVALID_ARGUMENT, "there is no cache " + std::to_string(which));
  std::string error;
  auto store =
      cache::Store::open(which == LOCKSTEP_CACHE_COMPILED ? cache::kCompiled : cache::kTranslated, error);
  if (!error.empty()) throw Failure(LOCKSTEP_INVALID_ARGUMENT, error);
  return store;
}

}  // namespace

lockstep_status lockstep_cache_get_info(lockstep_cache which, lockstep_cache_info* out) {
  return guarded([&] {
    thread_local std::string folder;
    lockstep_cache_info info{};
    folder.clear();
    if (const auto store = open_store(which)) {
      const cache::Store::Contents contents = store->contents();
      folder = store->folder().string();
      info.entries = contents.entries;
      info.bytes = contents.bytes;
      info.limit_bytes = store->limit_bytes();
    }
    info.folder = folder.c_str();
    give(out, info);
  });
}

lockstep_status lockstep_cache_clear(lockstep_cache which) {
  return guarded([&] {
    if (const auto store = open_store(which)) store->clear();
  });
}
