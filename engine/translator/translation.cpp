#include "engine/translator/translation.h"

#include <algorithm>
#include <mutex>

#include "engine/translator/emitter.h"

namespace lockstep::translator {

Translation::Translation(const Routine& routine)
    : object_(generate(routine)), instructions_(routine.nodes.size()), code_(object_) {
  function_ = reinterpret_cast<TranslatedFunction>(code_.address());
  int number = 0;
  for (unsigned block : entry_blocks(routine)) entries_[routine.blocks[block].offset] = number++;
  object_.bytes.clear();
}

namespace {

// Translations by the bytes of their code; those used longest ago are forgotten first.
class Cache {
 public:
  std::shared_ptr<const Translation> get(const Routine& routine, bool& reused) {
    std::lock_guard lock(mutex_);
    const auto found = entries_.find(routine.key);
    reused = found != entries_.end();
    if (reused) {
      found->second.last_use = ++uses_;
      return found->second.translation;
    }
    auto translation = std::make_shared<const Translation>(routine);
    if (entries_.size() == kMostTranslations) {
      entries_.erase(std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
        return a.second.last_use < b.second.last_use;
      }));
    }
    entries_[routine.key] = {translation, ++uses_};
    return translation;
  }

 private:
  struct Entry {
    std::shared_ptr<const Translation> translation;
    uint64_t last_use = 0;
  };
  std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
  uint64_t uses_ = 0;
};

}  // namespace

std::shared_ptr<const Translation> translation_of(const Routine& routine, bool& reused) {
  static Cache cache;
  return cache.get(routine, reused);
}

}  // namespace lockstep::translator
