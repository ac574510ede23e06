#include "engine/translator/translator.h"

#include <stdexcept>

#include "engine/translator/routine.h"
#include "numeric/float_mode.h"
#include "state/trap_status.h"
#include "state/work_group.h"

namespace lockstep::translator {

namespace {
// Holds no address: the first access of every instruction looks its range up.
const Range& no_range() {
  static const Range range{1, 1, 0, ""};
  return range;
}
}  // namespace

Translator::Translator(std::vector<CodeRange> code, unsigned wave_size,
                       std::shared_ptr<const RangeSet> memory, uint64_t entry, unsigned vgpr_count,
                       const IsCancelled& is_cancelled)
    : interpreter_(code, wave_size, memory, interpreter::best_host_target(), vgpr_count),
      stepper_(code, wave_size, memory, interpreter::best_host_target(), vgpr_count, &one_instruction_),
      memory_(std::move(memory)) {
  try {
    FoundTranslation found =
        TranslationCache::of_process().get(find_routine(code, entry, wave_size, vgpr_count), is_cancelled);
    translation_ = std::move(found.translation);
    statistics_.origin = found.origin;
  } catch (const std::runtime_error& error) {
    unsupported_ = error.what();
    return;
  }
  statistics_.instructions = translation_->instructions();
  statistics_.seconds = translation_->stages().total();
  statistics_.code_bytes = translation_->code_bytes();
  statistics_.interpreted = translation_->interpreted();
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

// Afterwards the wave is the interpreter's again, in the mode that it has then.
int64_t Translator::step(Wave& wave) {
  stepper_.enter(wave, wave.pc);
  const int64_t executed = stepper_.run(wave, 1);
  interpreter_.enter(wave, wave.pc);
  return executed;
}

// The sanitizer of calls through pointers looks for a type before the function, where generated code has
// nothing.
[[clang::no_sanitize("function")]] int64_t Translator::run(Wave& wave, int64_t budget) {
  if (!translation_) return interpreter_.run(wave, budget);
  if (memory_) look_at_memory();
  int64_t left = budget;
  while (left > 0 && wave.state == WaveState::ready) {
    // Code is translated for waves with VGPRs in the default mode.
    if (wave.status & status_bit::kNoVgprs) {
      left -= interpreter_.run(wave, left);
      continue;
    }
    if ((wave.mode & kFloatModeMask) != kDefaultFloatMode) {
      left -= interpreter_.run(wave, translation_->changes_mode() ? 1 : left);
      continue;
    }
    const Translation::Entry* entry = translation_->entry_at(static_cast<int64_t>(wave.pc - context_.entry));
    Leave how = Leave::interpret;
    if (entry && entry->function) {
      how = static_cast<Leave>(entry->function(&wave, &context_, entry->number, left));
      wave.executed_before_turn += left - wave.budget;
      left = wave.budget;
      // A work-group of one wave treats barriers as s_nop (guide 5.5).
      if (wave.state == WaveState::at_barrier && wave.group->wave_count == 1) wave.state = WaveState::ready;
    } else if (entry) {
      how = Leave::step;
    }
    if (how == Leave::step)
      left -= step(wave);
    else if (how == Leave::interpret)
      left -= interpreter_.run(wave, 1);  // to the next taken branch, barrier or end
  }
  return budget - left;
}

}  // namespace lockstep::translator
