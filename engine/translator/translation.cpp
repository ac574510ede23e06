#include "engine/translator/translation.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>

#include "engine/translator/emitter.h"
#include "engine/translator/large_stack.h"

namespace lockstep::translator {

namespace {

void throw_if(const IsCancelled& is_cancelled) {
  if (is_cancelled && is_cancelled()) throw Cancelled();
}

}  // namespace

Translation::Translation(const Routine& routine, const IsCancelled& is_cancelled)
    : changes_mode_(routine.changes_mode) {
  on_large_stack([&] { make(routine, is_cancelled); });
}

void Translation::make(const Routine& routine, const IsCancelled& is_cancelled) {
  const Facts facts = analyse(routine);
  for (unsigned piece = 0; piece < routine.pieces.size(); ++piece) {
    throw_if(is_cancelled);
    Object object = generate(routine, facts, piece, memory_slots_);
    const auto& code = code_.emplace_back(std::make_unique<LoadedCode>(object));
    const auto function = reinterpret_cast<TranslatedFunction>(code->address());
    uint32_t number = 0;
    for (unsigned block : entry_blocks(routine, piece))
      entries_[routine.blocks[block].offset] = {function, number++};
    memory_slots_ = object.next_slot;
    code_bytes_ += object.code_bytes;
    stages_ += object.stages;
  }
  std::map<std::string, InterpretedInstruction> interpreted;
  for (const Node& node : routine.nodes) {
    if (node.kind != NodeKind::step && node.kind != NodeKind::outside) {
      ++instructions_;
      continue;
    }
    // There is nothing to load before these.
    entries_.erase(node.offset);
    if (node.kind == NodeKind::step) entries_[node.offset] = {};
    const std::string name(node.kind == NodeKind::step ? node.instruction.row->name : std::string_view());
    auto [entry, is_new] = interpreted.try_emplace(name, InterpretedInstruction{name, node.reason, 0});
    ++entry->second.count;
  }
  for (auto& [name, entry] : interpreted) interpreted_.push_back(std::move(entry));
}

namespace {

// Translations by the bytes of their code; those used longest ago are forgotten first.
class Cache {
 public:
  std::shared_ptr<const Translation> get(const Routine& routine, bool& reused,
                                         const IsCancelled& is_cancelled) {
    constexpr std::chrono::milliseconds kLook{100};
    std::unique_lock lock(mutex_, kLook);
    while (!lock) {
      throw_if(is_cancelled);
      lock.try_lock_for(kLook);
    }
    const auto found = entries_.find(routine.key);
    reused = found != entries_.end();
    if (reused) {
      found->second.last_use = ++uses_;
      return found->second.translation;
    }
    auto translation = std::make_shared<const Translation>(routine, is_cancelled);
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
  std::timed_mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
  uint64_t uses_ = 0;
};

}  // namespace

std::shared_ptr<const Translation> translation_of(const Routine& routine, bool& reused,
                                                  const IsCancelled& is_cancelled) {
  static Cache cache;
  return cache.get(routine, reused, is_cancelled);
}

}  // namespace lockstep::translator
