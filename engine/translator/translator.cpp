#include "engine/translator/translator.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "engine/translator/background.h"
#include "engine/translator/context.h"
#include "engine/translator/runtime.h"
#include "numeric/float_mode.h"
#include "state/trap_status.h"
#include "state/work_group.h"

namespace lockstep::translator {

namespace {

// Wave-instructions that the interpreter executes before somebody looks whether there is a translation
// already, some tenths of a millisecond; and for each instruction of the kernel before it is worth to make
// one, a sixth of the time that this takes. So what runs for a short time pays nothing, and what runs for a
// long time little.
constexpr uint64_t kFirstLook = 100'000, kHot = 50'000;
// After so many a wave looks whether there is a translation now.
constexpr int64_t kTurn = 16'384;

// Holds no address: the first access of every instruction looks its range up.
const Range& no_range() {
  static const Range range{1, 1, 0, ""};
  return range;
}

}  // namespace

// What waves run, once it is there.
struct Translator::Translated {
  std::shared_ptr<const Translation> translation;
  Origin origin;
  std::vector<std::atomic<const Range*>> last_range;
  std::atomic<uint64_t> memory_version = 0;  // that last_range is of
  Context context;

  Translated(FoundTranslation found, uint64_t entry, const RangeSet* memory, Stepper& stepper)
      : translation(std::move(found.translation)),
        origin(found.origin),
        last_range(translation->memory_slots()),
        context{entry, memory, last_range.data(), &stepper} {
    forget_ranges();
  }

  void forget_ranges() {
    for (auto& range : last_range) range.store(&no_range(), std::memory_order_relaxed);
  }

  // Forgets which ranges were hit if they may be others now.
  void look_at_memory() {
    if (!context.memory) return;
    const uint64_t version = context.memory->version();
    if (memory_version.load(std::memory_order_acquire) == version) return;
    forget_ranges();
    memory_version.store(version, std::memory_order_release);
  }
};

struct Translator::Handover {
  std::atomic<Translated*> translated = nullptr;
  std::unique_ptr<Translated> owner;  // of that
  std::atomic<bool> is_wanted = true;

  void give(FoundTranslation found, uint64_t entry, const RangeSet* memory, Stepper& stepper) {
    owner = std::make_unique<Translated>(std::move(found), entry, memory, stepper);
    translated.store(owner.get(), std::memory_order_release);
  }
};

Translator::Translator(std::vector<CodeRange> code, unsigned wave_size,
                       std::shared_ptr<const RangeSet> memory, uint64_t entry, unsigned vgpr_count,
                       const IsCancelled& is_cancelled, FirstTier first, uint32_t float_mode)
    : code_(std::move(code)),
      wave_size_(wave_size),
      vgpr_count_(vgpr_count),
      float_mode_(float_mode),
      entry_(entry),
      memory_(std::move(memory)),
      interpreter_(code_, wave_size, memory_, interpreter::best_host_target(), vgpr_count),
      stepper_(code_, wave_size, memory_, interpreter::best_host_target(), vgpr_count, &one_instruction_),
      handover_(std::make_shared<Handover>()),
      next_look_(first == FirstTier::interpreter ? kFirstLook : UINT64_MAX) {
  // A setting that makes no sense is told at once, not when a kernel is hot.
  TranslationCache& cache = TranslationCache::of_process();
  if (first == FirstTier::interpreter) return;
  try {
    handover_->give(cache.get(find_routine(code_, entry, wave_size, vgpr_count, float_mode), is_cancelled),
                    entry_, memory_.get(), *this);
  } catch (const std::runtime_error& error) {
    unsupported_ = error.what();
  }
}

Translator::~Translator() {
  handover_->is_wanted = false;
}

void Translator::set_host_real_time() {
  interpreter_.set_host_real_time();
  stepper_.set_host_real_time();
}

Translator::Translated* Translator::translated() const {
  return handover_->translated.load(std::memory_order_acquire);
}

Statistics Translator::statistics() const {
  const Translated* const found = translated();
  if (!found) return {};
  const Translation& translation = *found->translation;
  return {translation.instructions(), translation.stages().total(), translation.code_bytes(), found->origin,
          translation.interpreted()};
}

bool Translator::enter(Wave& wave, uint64_t pc) {
  return interpreter_.enter(wave, pc);
}

// Afterwards the wave is the interpreter's again, in the mode that it has then.
int64_t Translator::step(Wave& wave) {
  stepper_.enter(wave, wave.pc);
  const int64_t executed = stepper_.run(wave, 1);
  interpreter_.enter(wave, wave.pc);
  return executed;
}

int64_t Translator::run(Wave& wave, int64_t budget) {
  int64_t left = budget;
  Translated* found = translated();
  while (!found && left > 0 && wave.state == WaveState::ready) {
    const int64_t executed = run_untranslated(wave, left);
    left -= executed;
    if (executed == 0) return budget - left;
    found = translated();
  }
  if (found) left -= run_translated(wave, left, *found);
  return budget - left;
}

const LaunchNeeds* Translator::launch_needs(uint32_t mode) const {
  const Translated* found = translated();
  // The interpreter may show all of them, and runs waves in other modes.
  if (!found || (mode & kFloatModeMask) != found->translation->float_mode()) return nullptr;
  return &found->translation->launch_needs();
}

// What run_translated() does for waves that stay in translated code, without a look at each whether they do.
[[clang::no_sanitize("function")]] void Translator::run_turns(std::span<Wave* const> waves, int64_t turn,
                                                              size_t& next, uint64_t& executed) {
  Translated& found = *translated();
  found.look_at_memory();
  const Translation& translation = *found.translation;
  uint64_t pc = entry_;
  const Translation::Entry* entry = translation.entry_at(0);
  for (; next < waves.size(); ++next) {
    Wave& wave = *waves[next];
    if (wave.state == WaveState::ended || wave.state == WaveState::at_barrier) continue;
    if (wave.state != WaveState::ready || wave.status & status_bit::kNoVgprs) break;
    // Most waves of a group are at the same place.
    if (wave.pc != pc) {
      pc = wave.pc;
      entry = translation.entry_at(static_cast<int64_t>(pc - entry_));
    }
    if (!entry || !entry->function || (wave.mode & kFloatModeMask) != entry->float_mode) break;
    entry->function(&wave, &found.context, entry->number, turn);
    const int64_t count = turn - wave.budget;
    wave.executed_before_turn += count;
    executed += static_cast<uint64_t>(count);
    const bool is_over = wave.state == WaveState::ended || wave.state == WaveState::at_barrier ||
                         (wave.state == WaveState::ready && wave.budget <= 0);
    if (!is_over) break;
  }
  if (translation.has_calls()) interpreted_.fetch_add(take_called(), std::memory_order_relaxed);
}

[[clang::no_sanitize("function")]] void Translator::run_row(GroupRow& row) {
  Translated& found = *translated();
  found.look_at_memory();
  const Translation& translation = *found.translation;
  if (row.counts_up && translation.row_function()) return translation.row_function()(&row, &found.context);
  const Translation::Entry entry = *translation.entry_at(0);
  do {
    for (; row.wave < row.wave_count; ++row.wave) {
      Wave& wave = *row.waves[row.wave];
      std::memcpy(reinterpret_cast<std::byte*>(&wave) + row.x_offset, &row.x, sizeof row.x);
      entry.function(&wave, &found.context, entry.number, row.turn);
      if (wave.state != WaveState::ended) return;
      row.executed += static_cast<uint64_t>(row.turn - wave.budget);
    }
    row.wave = 0;
  } while (++row.x < row.end && row.executed < row.most);
}

int64_t Translator::run_untranslated(Wave& wave, int64_t budget) {
  const int64_t executed = interpreter_.run(wave, std::min(budget, kTurn));
  const uint64_t all = interpreted_.fetch_add(static_cast<uint64_t>(executed), std::memory_order_relaxed) +
                       static_cast<uint64_t>(executed);
  if (all >= next_look_.load(std::memory_order_relaxed)) look_whether_hot(all);
  return executed;
}

void Translator::look_whether_hot(uint64_t executed) {
  const std::unique_lock lock(look_mutex_, std::try_to_lock);
  if (!lock || executed < next_look_.load(std::memory_order_relaxed)) return;
  // Here and not in the background: while a wave runs, its code is there.
  if (!routine_)
    routine_ =
        std::make_unique<const Routine>(find_routine(code_, entry_, wave_size_, vgpr_count_, float_mode_));
  const uint64_t hot = kHot * routine_->nodes.size();
  if (executed < hot && !TranslationCache::of_process().has(*routine_)) {
    next_look_.store(hot, std::memory_order_relaxed);
    return;
  }
  next_look_.store(UINT64_MAX, std::memory_order_relaxed);
  Background::of_process().start(
      [handover = handover_, entry = entry_, memory = memory_, stepper = static_cast<Stepper*>(this),
       routine = std::shared_ptr<const Routine>(std::move(routine_))](const IsCancelled& is_ending) {
        try {
          handover->give(TranslationCache::of_process().get(
                             *routine, [&] { return !handover->is_wanted || is_ending(); }),
                         entry, memory.get(), *stepper);
        } catch (const std::exception&) {
          // Nobody wants it any more, or LLVM cannot: the interpreter goes on.
        }
      });
}

// The sanitizer of calls through pointers looks for a type before the function, where generated code has
// nothing.
[[clang::no_sanitize("function")]] int64_t Translator::run_translated(Wave& wave, int64_t budget,
                                                                      Translated& translated) {
  translated.look_at_memory();
  const Translation& translation = *translated.translation;
  int64_t left = budget, interpreted = 0;
  const auto interpret = [&](int64_t most) {
    // In the mode that translated code has left behind.
    if (translation.changes_mode()) interpreter_.enter(wave, wave.pc);
    const int64_t executed = interpreter_.run(wave, most);
    left -= executed;
    interpreted += executed;
  };
  while (left > 0 && wave.state == WaveState::ready) {
    // Code is translated for waves with VGPRs.
    if (wave.status & status_bit::kNoVgprs) {
      interpret(left);
      continue;
    }
    const Translation::Entry* entry = translation.entry_at(static_cast<int64_t>(wave.pc - entry_));
    if (entry && (wave.mode & kFloatModeMask) != entry->float_mode) {
      interpret(translation.changes_mode() ? 1 : left);
      continue;
    }
    Leave how = Leave::interpret;
    if (entry && entry->function) {
      how = static_cast<Leave>(entry->function(&wave, &translated.context, entry->number, left));
      if (translation.has_calls()) interpreted += static_cast<int64_t>(take_called());
      wave.executed_before_turn += left - wave.budget;
      left = wave.budget;
      // A work-group of one wave treats barriers as s_nop (guide 5.5).
      if (wave.state == WaveState::at_barrier && wave.group->wave_count == 1) wave.state = WaveState::ready;
    } else if (entry) {
      how = Leave::step;
    }
    if (how == Leave::step) {
      const int64_t executed = step(wave);
      left -= executed;
      interpreted += executed;
    } else if (how == Leave::interpret) {
      interpret(1);  // to the next taken branch, barrier or end
    }
  }
  if (interpreted != 0) interpreted_.fetch_add(static_cast<uint64_t>(interpreted), std::memory_order_relaxed);
  return budget - left;
}

}  // namespace lockstep::translator
