// Translations by the bytes of their code: those of this process, shared by all dispatches that run the same
// code, and those that earlier processes left on disk.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "cache/store.h"
#include "engine/translator/routine.h"
#include "engine/translator/translation.h"

namespace lockstep::translator {

// Where a translation came from.
enum class Origin : uint8_t {
  translated,  // made now
  stored,      // by an earlier process
  reused,      // by an earlier dispatch of this process, or by one at the same time
};

struct FoundTranslation {
  std::shared_ptr<const Translation> translation;
  Origin origin = Origin::translated;
};

// Safe from several threads, which translate different routines at the same time.
class TranslationCache {
 public:
  // `store`: null, or where other processes find what this one translates. Keeps so many in the process; a
  // dispatch keeps its own for as long as it runs.
  explicit TranslationCache(std::unique_ptr<cache::Store> store = nullptr, size_t most = 128)
      : store_(std::move(store)), most_(most) {}
  // With the user's store, if there is one. Throws std::invalid_argument if LOCKSTEP_CACHE_MEGABYTES is no
  // number that it could be.
  static TranslationCache& of_process();

  // Throws Cancelled, also while it waits for another thread that translates the same routine.
  FoundTranslation get(const Routine& routine, const IsCancelled& is_cancelled = {});
  // Whether get() will find one, of this process or of another; a guess.
  bool has(const Routine& routine);

 private:
  struct Entry {
    std::shared_ptr<const Translation> translation;  // null: a thread makes it
    uint64_t last_use = 0;
  };
  FoundTranslation make(const Routine& routine, const IsCancelled& is_cancelled);
  void forget_oldest();

  std::unique_ptr<cache::Store> store_;
  const size_t most_;
  std::mutex mutex_;
  std::condition_variable made_;
  std::unordered_map<std::string, Entry> entries_;
  uint64_t uses_ = 0;
};

}  // namespace lockstep::translator
