#include "engine/translator/translation_cache.h"

#include <chrono>
#include <stdexcept>

#include "engine/translator/stored_objects.h"

namespace lockstep::translator {

TranslationCache& TranslationCache::of_process() {
  // Never destroyed: threads may still translate when the process ends.
  static TranslationCache& instance = [&]() -> TranslationCache& {
    std::string error;
    auto store = cache::Store::open(cache::kTranslated, error);
    if (!error.empty()) throw std::invalid_argument(error);
    return *new TranslationCache(std::move(store));
  }();
  return instance;
}

FoundTranslation TranslationCache::get(const Routine& routine, const IsCancelled& is_cancelled) {
  constexpr std::chrono::milliseconds kLook{100};
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto [found, is_new] = entries_.try_emplace(routine.key);
    if (is_new) break;
    if (found->second.translation) {
      found->second.last_use = ++uses_;
      return {found->second.translation, Origin::reused};
    }
    if (is_cancelled && is_cancelled()) throw Cancelled();
    made_.wait_for(lock, kLook);
  }
  lock.unlock();
  FoundTranslation made;
  try {
    made = make(routine, is_cancelled);
  } catch (...) {
    lock.lock();
    entries_.erase(routine.key);
    made_.notify_all();
    throw;
  }
  lock.lock();
  forget_oldest();
  entries_[routine.key] = {made.translation, ++uses_};
  made_.notify_all();
  return made;
}

bool TranslationCache::has(const Routine& routine) {
  {
    std::lock_guard lock(mutex_);
    if (entries_.contains(routine.key)) return true;
  }
  return store_ && store_->has(stored_key(routine));
}

FoundTranslation TranslationCache::make(const Routine& routine, const IsCancelled& is_cancelled) {
  const std::string key = store_ ? stored_key(routine) : std::string();
  if (std::string text; !key.empty() && store_->find(key, text)) {
    try {
      if (auto objects = unpacked(text, routine.pieces.size()))
        return {std::make_shared<const Translation>(routine, std::move(*objects)), Origin::stored};
    } catch (const std::runtime_error&) {
      // No objects of this host, whoever wrote them: made again.
    }
    store_->remove(key);
  }
  std::vector<Object> objects = translate(routine, is_cancelled);
  if (!key.empty()) store_->store(key, packed(objects));
  return {std::make_shared<const Translation>(routine, std::move(objects)), Origin::translated};
}

void TranslationCache::forget_oldest() {
  auto oldest = entries_.end();
  size_t finished = 0;
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    if (!at->second.translation) continue;
    ++finished;
    if (oldest == entries_.end() || at->second.last_use < oldest->second.last_use) oldest = at;
  }
  if (finished >= most_) entries_.erase(oldest);
}

}  // namespace lockstep::translator
