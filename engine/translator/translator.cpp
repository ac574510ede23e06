#include "engine/translator/translator.h"

#include <algorithm>

#include "engine/translator/routine.h"
#include "engine/translator/translation.h"
#include "numeric/float_mode.h"

namespace lockstep::translator {

namespace {
// Holds no address: the first access of every instruction looks its range up.
const Range& no_range() {
  static const Range range{1, 1, 0, ""};
  return range;
}
}  // namespace

Translator::Translator(std::vector<CodeRange> code, unsigned wave_size,
                       std::shared_ptr<const RangeSet> memory, uint64_t entry)
    : interpreter_(code, wave_size, memory), memory_(std::move(memory)) {
  if (wave_size != 32) {
    unsupported_ = "wave64 is not translated yet";
    return;
  }
  const Routine routine = find_routine(code, entry);
  unsupported_ = routine.unsupported;
  if (!unsupported_.empty()) return;
  translation_ = translation_of(routine, statistics_.reused);
  statistics_.instructions = translation_->instructions();
  statistics_.seconds = translation_->stages().total();
  statistics_.code_bytes = translation_->code_bytes();
  last_range_ = std::vector<std::atomic<const Range*>>(translation_->memory_slots());
  for (auto& range : last_range_) range.store(&no_range(), std::memory_order_relaxed);
  context_ = {entry, memory_.get(), last_range_.data()};
}

Translator::~Translator() = default;

bool Translator::enter(Wave& wave, uint64_t pc) {
  return interpreter_.enter(wave, pc);
}

void Translator::look_at_memory() {
  const uint64_t version = memory_->version();
  if (memory_version_.load(std::memory_order_acquire) == version) return;
  for (auto& range : last_range_) range.store(&no_range(), std::memory_order_relaxed);
  memory_version_.store(version, std::memory_order_release);
}

int64_t Translator::run(Wave& wave, int64_t budget) {
  if (!translation_ || (wave.mode & kFloatModeMask) != kDefaultFloatMode)
    return interpreter_.run(wave, budget);
  if (memory_) look_at_memory();
  int64_t left = budget;
  while (left > 0 && wave.state == WaveState::ready) {
    const int entry = translation_->entry_at(static_cast<int64_t>(wave.pc - context_.entry));
    Leave how = Leave::interpret;
    if (entry >= 0) {
      how =
          static_cast<Leave>(translation_->function()(&wave, &context_, static_cast<uint32_t>(entry), left));
      wave.executed_before_turn += left - wave.budget;
      left = wave.budget;
    }
    // To the next taken branch, barrier or end.
    if (how == Leave::interpret) left -= interpreter_.run(wave, 1);
  }
  return budget - left;
}

}  // namespace lockstep::translator
