#include "engine/translator/translator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
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
// Of a kernel, so many instructions are decoded at the first look, in a millisecond or two, and then one for
// so many that the interpreter executes, which takes it about twice as long.
constexpr uint64_t kDecodedAtFirst = 1'000, kExecutedForEach = 800;
// Waves that left for doubt before somebody looks whether the version that does not leave for NaNs is there
// already; and for each instruction of the kernel before it is worth to make it.
constexpr uint64_t kFirstDoubts = 1'000, kManyDoubts = 200;
// After so many a wave looks whether there is a translation now, and where the waves of a long kernel are.
constexpr int64_t kTurn = 16'384;
// Of a kernel: they wait for each other, and who has as many needs all of it.
constexpr unsigned kMostLoops = 8;

// Ends are no news, and steps are counted by their instructions, where they are made.
bool is_counted(Leave how) {
  return how != Leave::ended && how != Leave::step;
}

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
  std::vector<std::atomic<uint32_t>> rests;
  std::atomic<uint64_t> memory_version = 0;  // that last_range is of
  std::array<std::atomic<uint64_t>, kLeaves> left{};
  // Of waves that left for doubt: when somebody is to look whether the other version pays.
  std::atomic<uint64_t> next_look_at_doubt = kFirstDoubts;
  std::vector<std::atomic<uint64_t>> interpreted;  // by number: how often
  Context context;

  Translated(FoundTranslation found, uint64_t entry, const RangeSet* memory, Stepper& stepper)
      : translation(std::move(found.translation)),
        origin(found.origin),
        last_range(translation->memory_slots()),
        rests(translation->memory_slots()),
        interpreted(translation->interpreted().size()),
        context{entry,
                memory,
                last_range.data(),
                &stepper,
                translation->first_offset(),
                translation->entry_numbers().size(),
                translation->entry_numbers().data(),
                rests.data()} {
    forget_ranges();
  }

  void forget_ranges() {
    for (auto& range : last_range) range.store(&no_range(), std::memory_order_relaxed);
  }

  const Translation::Entry* entry_at(uint64_t pc) const {
    return translation->entry_at(static_cast<int64_t>(pc - context.entry));
  }
  void count(Leave how) {
    if (is_counted(how)) left[static_cast<size_t>(how)].fetch_add(1, std::memory_order_relaxed);
  }
  // Takes what this thread has called.
  uint64_t called() { return translation->has_calls() ? take_called(interpreted) : 0; }

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
  std::atomic<Translated*> whole = nullptr;
  // The last one is in front: if it has an earlier one in it, it is the better one.
  std::array<std::atomic<Translated*>, kMostLoops> loops{};
  std::atomic<unsigned> loop_count = 0;
  std::atomic<bool> is_wanted = true;
  std::atomic<double> seconds_before = 0;  // that versions took which gave way to this one
  std::mutex mutex;
  std::vector<std::unique_ptr<Translated>> owners;  // only ever more

  void give(FoundTranslation found, uint64_t entry, const RangeSet* memory, Stepper& stepper, bool is_whole) {
    const std::lock_guard lock(mutex);
    Translated* const made =
        owners.emplace_back(std::make_unique<Translated>(std::move(found), entry, memory, stepper)).get();
    if (is_whole) {
      if (const Translated* const first = whole.load(std::memory_order_relaxed))
        seconds_before = seconds_before + first->translation->stages().total();
      whole.store(made, std::memory_order_release);
    } else if (const unsigned count = loop_count.load(std::memory_order_relaxed); count < kMostLoops) {
      loops[kMostLoops - 1 - count].store(made, std::memory_order_release);
      loop_count.store(count + 1, std::memory_order_release);
    }
  }
  Parts parts() const {
    if (whole.load(std::memory_order_acquire)) return {&whole, 1};
    return Parts(loops).last(loop_count.load(std::memory_order_acquire));
  }
};

Translator::Translator(std::vector<CodeRange> code, unsigned wave_size,
                       std::shared_ptr<const RangeSet> memory, uint64_t entry, unsigned vgpr_count,
                       const IsCancelled& is_cancelled, FirstTier first, uint32_t float_mode,
                       const LaunchShape& launch)
    : code_(std::move(code)),
      wave_size_(wave_size),
      vgpr_count_(vgpr_count),
      float_mode_(float_mode),
      launch_(launch),
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
    handover_->give(
        cache.get(find_routine(code_, entry, wave_size, vgpr_count, float_mode, launch), is_cancelled),
        entry_, memory_.get(), *this, true);
  } catch (const std::runtime_error& error) {
    unsupported_ = error.what();
  }
}

Translator::~Translator() {
  handover_->is_wanted = false;
}

void Translator::set_host_clock(uint32_t megahertz) {
  interpreter_.set_host_clock(megahertz);
  stepper_.set_host_clock(megahertz);
}

Translator::Translated* Translator::translated() const {
  return handover_->whole.load(std::memory_order_acquire);
}

Statistics Translator::statistics() const {
  Statistics sum;
  for (const std::atomic<Translated*>& part : handover_->parts()) {
    const Translated& found = *part.load(std::memory_order_acquire);
    const Translation& translation = *found.translation;
    sum.instructions += translation.instructions();
    sum.seconds += translation.stages().total();
    sum.code_bytes += translation.code_bytes();
    sum.origin = found.origin;
    sum.interpreted = translation.interpreted();
  }
  sum.seconds += handover_->seconds_before;
  return sum;
}

std::vector<uint64_t> Translator::exit_counts() const {
  std::vector<uint64_t> counts;
  const std::lock_guard lock(handover_->mutex);
  for (const auto& part : handover_->owners) {
    for (const auto& count : part->left) counts.push_back(count.load(std::memory_order_relaxed));
    for (const auto& count : part->interpreted) counts.push_back(count.load(std::memory_order_relaxed));
  }
  return counts;
}

std::vector<Exit> Translator::exits_since(std::span<const uint64_t> before) const {
  std::map<std::pair<Leave, std::string>, uint64_t> sums;
  const std::lock_guard lock(handover_->mutex);
  size_t number = 0;
  const auto add = [&](Leave how, const std::string& name, const std::atomic<uint64_t>& count) {
    const uint64_t times =
        count.load(std::memory_order_relaxed) - (number < before.size() ? before[number] : 0);
    ++number;
    if (times != 0) sums[{how, name}] += times;
  };
  for (const auto& part : handover_->owners) {
    for (size_t how = 0; how < kLeaves; ++how) add(static_cast<Leave>(how), {}, part->left[how]);
    const std::vector<InterpretedInstruction>& list = part->translation->interpreted();
    for (size_t i = 0; i < list.size(); ++i)
      add(list[i].kind == NodeKind::call ? Leave::call : Leave::step, list[i].name, part->interpreted[i]);
  }
  std::vector<Exit> exits;
  for (const auto& [what, times] : sums) exits.push_back({what.first, what.second, times});
  return exits;
}

bool Translator::was_told() {
  if (handover_->parts().empty()) return false;
  const unsigned part = translated() ? 2 : 1;
  return told_.fetch_or(part) & part;
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
  while (left > 0 && wave.state == WaveState::ready) {
    if (translated()) return budget - left + run_translated(wave, left, handover_->parts());
    const Parts loops = handover_->parts();
    const int64_t executed =
        loops.empty() ? run_untranslated(wave, left) : run_translated(wave, std::min(left, kTurn), loops);
    left -= executed;
    if (executed == 0) break;
  }
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
  // Mostly all waves of a turn leave alike: that is one addition for all of them.
  Leave how = Leave::ended;
  uint64_t times = 0;
  const auto count_how = [&] {
    if (times != 0 && is_counted(how))
      found.left[static_cast<size_t>(how)].fetch_add(times, std::memory_order_relaxed);
    times = 0;
  };
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
    const auto left = static_cast<Leave>(entry->function(&wave, &found.context, entry->number, turn));
    if (left != how) {
      count_how();
      how = left;
    }
    ++times;
    const int64_t count = turn - wave.budget;
    wave.executed_before_turn += count;
    executed += static_cast<uint64_t>(count);
    const bool is_over = wave.state == WaveState::ended || wave.state == WaveState::at_barrier ||
                         (wave.state == WaveState::ready && wave.budget <= 0);
    if (!is_over) break;
  }
  count_how();
  look_whether_nans_are_many(found);
  if (translation.has_calls()) interpreted_.fetch_add(found.called(), std::memory_order_relaxed);
}

[[clang::no_sanitize("function")]] void Translator::run_row(GroupRow& row) {
  Translated& found = *translated();
  found.look_at_memory();
  const Translation& translation = *found.translation;
  const auto count = [&](uint32_t how) {
    found.count(static_cast<Leave>(how));
    look_whether_nans_are_many(found);
  };
  const size_t x_offset = offsetof(Wave, scalar) + launch_.group_id_register * sizeof(uint32_t);
  const bool counts_up = row.counting_lanes != 0 && row.counting_lanes >= launch_.counting_lanes &&
                         (row.is_one_row || !launch_.is_one_row);
  if (counts_up && translation.row_function() && row.x_offset == x_offset)
    return count(translation.row_function()(&row, &found.context));
  const Translation::Entry entry = *translation.entry_at(0);
  do {
    for (; row.wave < row.last_wave; ++row.wave) {
      Wave& wave = *row.waves[row.wave];
      std::memcpy(reinterpret_cast<std::byte*>(&wave) + row.x_offset, &row.x, sizeof row.x);
      count(entry.function(&wave, &found.context, entry.number, row.turn));
      if (wave.state != WaveState::ended) return;
      row.executed += static_cast<uint64_t>(row.turn - wave.budget);
    }
    row.wave = row.first_wave;
  } while (++row.x < row.end && row.executed < row.most);
}

int64_t Translator::run_untranslated(Wave& wave, int64_t budget) {
  const int64_t executed = interpreter_.run(wave, std::min(budget, kTurn));
  count_interpreted(static_cast<uint64_t>(executed), wave.pc);
  return executed;
}

void Translator::count_interpreted(uint64_t executed, uint64_t pc) {
  const uint64_t all = interpreted_.fetch_add(executed, std::memory_order_relaxed) + executed;
  if (all >= next_look_.load(std::memory_order_relaxed)) look_whether_hot(all, pc);
}

void Translator::look_whether_hot(uint64_t executed, uint64_t pc) {
  const std::unique_lock lock(look_mutex_, std::try_to_lock);
  if (!lock || executed < next_look_.load(std::memory_order_relaxed)) return;
  // Routines are found here and not in the background: while a wave runs, its code is there.
  bool is_hot = false;
  if (!was_found_) {
    if (!search_)
      search_ = std::make_unique<RoutineSearch>(code_, entry_, wave_size_, vgpr_count_, float_mode_, launch_);
    const uint64_t allowed = std::max(kDecodedAtFirst, executed / kExecutedForEach);
    if (!search_->decode(allowed - std::exchange(decoded_, allowed))) {
      last_look_ = executed;
      next_look_.store(executed + kTurn, std::memory_order_relaxed);
      return;
    }
    routine_ = std::make_shared<const Routine>(std::move(*search_).routine());
    search_.reset();
    was_found_ = true;
    is_hot = TranslationCache::of_process().has(*routine_);
    if (!is_hot) loops_ = HotLoops(*routine_, kHot);
  }
  uint64_t next = UINT64_MAX;
  if (routine_) {
    const uint64_t hot = kHot * routine_->nodes.size();
    is_hot |= executed >= hot;
    if (is_hot)
      translate_in_background(std::move(routine_), entry_, true);
    else
      next = hot;
  }
  if (!loops_.empty() && !translated()) {
    const Loop* const loop = loops_.add(static_cast<int64_t>(pc - entry_), executed - last_look_);
    if (loop) {
      const uint64_t begin = entry_ + static_cast<uint64_t>(loop->begin),
                     end = entry_ + static_cast<uint64_t>(loop->end);
      const CodeRange only[] = {{begin, end}};
      translate_in_background(std::make_shared<const Routine>(
                                  find_routine(only, begin, wave_size_, vgpr_count_, loop->float_mode)),
                              begin, false);
    }
    next = executed + kTurn;
  }
  last_look_ = executed;
  next_look_.store(next, std::memory_order_relaxed);
}

// Loops of a kernel that is not translated itself wait for that.
void Translator::look_whether_nans_are_many(Translated& found) {
  const uint64_t doubts = found.left[static_cast<size_t>(Leave::doubt)].load(std::memory_order_relaxed);
  if (doubts < found.next_look_at_doubt.load(std::memory_order_relaxed) || &found != translated()) return;
  const std::unique_lock lock(look_mutex_, std::try_to_lock);
  if (!lock || doubts < found.next_look_at_doubt.load(std::memory_order_relaxed)) return;
  Routine routine = second_version();
  const uint64_t many = kManyDoubts * routine.nodes.size();
  const bool pays =
      !found.translation->selects_nans() && (doubts >= many || TranslationCache::of_process().has(routine));
  const bool waits = !found.translation->selects_nans() && !pays;
  found.next_look_at_doubt.store(waits ? many : UINT64_MAX, std::memory_order_relaxed);
  if (pays) translate_in_background(std::make_shared<const Routine>(std::move(routine)), entry_, true);
}

Routine Translator::second_version() const {
  return selecting_nans(find_routine(code_, entry_, wave_size_, vgpr_count_, float_mode_, launch_));
}

void Translator::translate_for_nans() {
  handover_->give(TranslationCache::of_process().get(second_version()), entry_, memory_.get(), *this, true);
}

void Translator::translate_in_background(std::shared_ptr<const Routine> routine, uint64_t entry,
                                         bool is_whole) {
  Background::of_process().start([handover = handover_, entry, memory = memory_,
                                  stepper = static_cast<Stepper*>(this), routine = std::move(routine),
                                  is_whole](const IsCancelled& is_ending) {
    try {
      handover->give(
          TranslationCache::of_process().get(*routine, [&] { return !handover->is_wanted || is_ending(); }),
          entry, memory.get(), *stepper, is_whole);
    } catch (const std::exception&) {
      // Nobody wants it any more, or LLVM cannot: the interpreter goes on.
    }
  });
}

// The sanitizer of calls through pointers looks for a type before the function, where generated code has
// nothing.
[[clang::no_sanitize("function")]] int64_t Translator::run_translated(Wave& wave, int64_t budget,
                                                                      Parts parts) {
  bool changes_mode = false;
  for (const std::atomic<Translated*>& each : parts) {
    Translated& part = *each.load(std::memory_order_acquire);
    part.look_at_memory();
    changes_mode |= part.translation->changes_mode();
  }
  int64_t left = budget, interpreted = 0;
  uint64_t interpreted_at = wave.pc;
  const auto interpret = [&](int64_t most) {
    // In the mode that translated code has left behind.
    if (changes_mode) interpreter_.enter(wave, wave.pc);
    interpreted_at = wave.pc;
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
    Translated* part = nullptr;
    const Translation::Entry* entry = nullptr;
    for (size_t i = 0; i < parts.size() && !entry; ++i) {
      part = parts[i].load(std::memory_order_acquire);
      entry = part->entry_at(wave.pc);
    }
    if (entry && (wave.mode & kFloatModeMask) != entry->float_mode) {
      interpret(changes_mode ? 1 : left);
      continue;
    }
    Leave how = Leave::outside;
    if (entry && entry->function) {
      how = static_cast<Leave>(entry->function(&wave, &part->context, entry->number, left));
      part->count(how);
      if (how == Leave::doubt) look_whether_nans_are_many(*part);
      interpreted += static_cast<int64_t>(part->called());
      wave.executed_before_turn += left - wave.budget;
      left = wave.budget;
      // A work-group of one wave treats barriers as s_nop (guide 5.5).
      if (wave.state == WaveState::at_barrier && wave.group->wave_count == 1) wave.state = WaveState::ready;
      if (how == Leave::step) entry = part->entry_at(wave.pc);
    } else if (entry) {
      how = Leave::step;
    }
    if (how == Leave::step) part->interpreted[entry->interpreted].fetch_add(1, std::memory_order_relaxed);
    if (how == Leave::step || how == Leave::jump) {
      const int64_t executed = step(wave);
      left -= executed;
      interpreted += executed;
    } else if (is_interpreters(how)) {
      interpret(1);  // to the next taken branch, barrier or end
    }
  }
  if (interpreted != 0) count_interpreted(static_cast<uint64_t>(interpreted), interpreted_at);
  return budget - left;
}

}  // namespace lockstep::translator
