#include "engine/precise/dependency_counters.h"

#include <algorithm>

#include "isa/effects.h"
#include "isa/hardware_registers.h"
#include "state/work_group.h"

namespace lockstep::precise {

void Siblings::join(const WorkGroup* group, DependencyCounters* counters) {
  std::lock_guard lock(mutex_);
  groups_[group].push_back(counters);
}
void Siblings::leave(const WorkGroup* group, DependencyCounters* counters) {
  std::lock_guard lock(mutex_);
  const auto at = groups_.find(group);
  std::erase(at->second, counters);
  if (at->second.empty()) groups_.erase(at);
}
std::vector<DependencyCounters*> Siblings::of(const WorkGroup* group) const {
  std::lock_guard lock(mutex_);
  const auto at = groups_.find(group);
  return at == groups_.end() ? std::vector<DependencyCounters*>{} : at->second;
}

DependencyCounters::DependencyCounters(const Settings& settings, std::shared_ptr<MemoryPath> path,
                                       std::shared_ptr<Siblings> siblings, Wave& wave, Executor& executor)
    : settings_(settings),
      path_(std::move(path)),
      siblings_(std::move(siblings)),
      wave_(wave),
      executor_(executor),
      group_(wave.group),
      random_(Random(settings.seed ^ Random(wave.group->number).next()).next() + wave.index_in_group) {
  siblings_->join(group_, this);
}

bool DependencyCounters::is_skipped(const isa::Instruction& instruction) const {
  if (!is_without_lanes(instruction, wave_)) return false;
  const Shares shares = shares_of(instruction);
  const Counts now = counts();
  return std::none_of(shares.begin(), shares.end(),
                      [&](const Share& share) { return now[share.counter] != 0; });
}

DependencyCounters::~DependencyCounters() {
  siblings_->leave(group_, this);
}

Counts DependencyCounters::counts() const {
  Counts counts;
  for (const Handle& deferred : deferred_)
    if (!deferred->landed) counts[deferred->share().counter] += deferred->outstanding;
  return counts;
}

bool DependencyCounters::has_pending_results() const {
  return std::any_of(deferred_.begin(), deferred_.end(),
                     [](const Handle& handle) { return !handle->landed; });
}

Verdict DependencyCounters::finish() {
  const Verdict verdict = come_down_to(Counts{});
  // It is not this unit that stalls.
  stalled_ = false;
  return verdict;
}

Verdict DependencyCounters::stall() {
  stalled_ = true;
  return Verdict::stall;
}

Verdict DependencyCounters::before(const Step& step) {
  const bool again = std::exchange(stalled_, false);
  by_others_.clear();
  const Shares shares = shares_of(step.instruction);
  if (is_skipped(step.instruction)) return Verdict::execute;
  if (!again) {
    ++steps_;
    if (const Verdict verdict = land_overdue(); verdict != Verdict::execute) return verdict;
    if (steps_ % kPatience == 0)
      for (DependencyCounters* sibling : siblings_->of(group_)) sibling->land_while_waiting();
  }
  const Counts limits = limits_at_issue(limits_of(step.instruction, wave_), shares);
  if (const Verdict verdict = come_down_to(limits); verdict != Verdict::execute) return verdict;
  if (settings_.results == Results::random)
    if (const Verdict verdict = something_at_random(); verdict != Verdict::execute) return verdict;
  return shares.count != 0 ? issue(step, shares) : Verdict::execute;
}

Verdict DependencyCounters::issue(const Step& step, const Shares& shares) {
  if (settings_.results == Results::now) return Verdict::execute;
  const FlatLanes flat = flat_lanes(step, executor_);
  std::vector<Handle> parts;
  for (const Share& share : shares) {
    uint64_t lanes = wave_.exec();
    if (shares.count == 2) lanes &= share.counter == CounterName::lgkmcnt ? flat.lds : ~flat.lds;
    parts.push_back(std::make_unique<Deferred>(step, share, lanes, flat));
    parts.back()->issued_at = steps_;
    parts.back()->keep_registers(wave_);
  }
  if (!may_be_put_off(step.instruction)) {
    by_others_ = std::move(parts);
    return Verdict::execute;
  }
  for (Handle& part : parts)
    if (!part->explore(wave_, executor_, *path_)) return Verdict::stopped;
  for (Handle& part : parts) deferred_.push_back(std::move(part));
  wave_.pc = step.next_pc();
  return Verdict::handled;
}

void DependencyCounters::after(const Step& step) {
  for (Handle& part : by_others_) {
    if (part->pc() != step.pc) continue;
    part->take_back_results(wave_);
    deferred_.push_back(std::move(part));
  }
  by_others_.clear();
  const bool was_put_off = settings_.results != Results::now && may_be_put_off(step.instruction) &&
                           shares_of(step.instruction).count != 0;
  if (!was_put_off) path_->executed(step.instruction);
  if (step.instruction.row->opcode == isa::Opcode::s_getreg_b32) {
    const isa::HardwareField field =
        isa::hardware_field(static_cast<uint32_t>(step.instruction.operands[1].value));
    if (field.number != isa::hardware_register::kIbSts) return;
    const uint16_t to = step.instruction.operands[0].code;
    if (to != isa::code::kNull) wave_.scalar[to] = ib_sts(counts()) >> field.offset & field.mask();
  }
}

bool DependencyCounters::may_touch_memory(const Deferred& deferred) const {
  for (const Handle& older : deferred_) {
    if (older.get() == &deferred) return true;
    if (!older->accessed && deferred.must_follow(*older)) return false;
  }
  return true;
}

bool DependencyCounters::may_land(const Deferred& deferred) const {
  if (!completes_in_order(deferred.share().kind)) return true;
  for (const Handle& older : deferred_) {
    if (older.get() == &deferred) return true;
    if (!older->landed && older->share().kind == deferred.share().kind) return false;
  }
  return true;
}

Verdict DependencyCounters::touch_memory(Deferred& deferred) {
  return deferred.access(wave_, executor_, *path_) ? Verdict::execute : Verdict::stopped;
}

void DependencyCounters::land(Deferred& deferred) {
  deferred.write_back(wave_);
  deferred.landed = true;
}

void DependencyCounters::forget_done() {
  std::erase_if(deferred_, [](const Handle& deferred) { return deferred->landed; });
}

// What counts twice can lower its counter by one before its result is there.
void DependencyCounters::lower_first_halves(const Counts& limits) {
  Counts now = counts();
  for (const Handle& handle : deferred_) {
    const CounterName counter = handle->share().counter;
    if (handle->landed || handle->outstanding < 2 || now[counter] <= limits[counter]) continue;
    if (settings_.results == Results::random && random_.one_in(2)) continue;
    --handle->outstanding;
    --now[counter];
  }
}

// In the order in which they are to land: those that leave the counters first come first. Where the guide
// leaves it open, the newest.
std::vector<Deferred*> DependencyCounters::choose_to_land(const Counts& limits) {
  std::vector<Deferred*> chosen;
  Counts now = counts();
  const auto is_gone = [&](const Handle& handle) {
    return handle->landed || std::find(chosen.begin(), chosen.end(), handle.get()) != chosen.end();
  };
  for (unsigned i = 0; i < kCounters; ++i) {
    const auto counter = static_cast<CounterName>(i);
    while (now[counter] > limits[counter]) {
      std::vector<Deferred*> candidates;
      uint32_t kinds_seen = 0;  // of those that complete in order only the oldest of each kind
      for (const Handle& handle : deferred_) {
        if (is_gone(handle) || handle->share().counter != counter) continue;
        const Kind kind = handle->share().kind;
        const uint32_t bit = 1u << static_cast<unsigned>(kind);
        if (completes_in_order(kind) && kinds_seen & bit) continue;
        kinds_seen |= bit;
        candidates.push_back(handle.get());
      }
      Deferred* next = settings_.results == Results::random ? candidates[random_.below(candidates.size())]
                                                            : candidates.back();
      now[counter] -= next->outstanding;
      chosen.push_back(next);
    }
  }
  return chosen;
}

Verdict DependencyCounters::come_down_to(const Counts& limits) {
  if (settings_.results == Results::now) return Verdict::execute;
  lower_first_halves(limits);
  const std::vector<Deferred*> chosen = choose_to_land(limits);
  if (chosen.empty()) return Verdict::execute;
  // What memory must see now: the chosen ones, and what must come before one of them.
  std::vector<Deferred*> touching;
  for (const Handle& handle : deferred_)
    if (!handle->accessed && std::find(chosen.begin(), chosen.end(), handle.get()) != chosen.end())
      touching.push_back(handle.get());
  for (size_t i = 0; i < touching.size(); ++i)
    for (const Handle& older : deferred_) {
      if (older.get() == touching[i]) break;
      if (!older->accessed && touching[i]->must_follow(*older) &&
          std::find(touching.begin(), touching.end(), older.get()) == touching.end())
        touching.push_back(older.get());
    }
  while (!touching.empty()) {
    std::vector<Deferred*> possible;
    std::copy_if(touching.begin(), touching.end(), std::back_inserter(possible),
                 [&](const Deferred* deferred) { return may_touch_memory(*deferred); });
    Deferred* next =
        settings_.results == Results::random
            ? possible[random_.below(possible.size())]
            : *std::max_element(possible.begin(), possible.end(), [](const Deferred* a, const Deferred* b) {
                return a->issued_at < b->issued_at;
              });
    if (const Verdict verdict = touch_memory(*next); verdict != Verdict::execute) return verdict;
    std::erase(touching, next);
    // Somebody else may look at memory in between.
    if (!touching.empty() && (settings_.results == Results::late || random_.one_in(2))) return stall();
  }
  for (Deferred* deferred : chosen) land(*deferred);
  forget_done();
  return Verdict::execute;
}

Verdict DependencyCounters::something_at_random() {
  std::vector<Deferred*> open;
  for (const Handle& handle : deferred_)
    if (!handle->landed) open.push_back(handle.get());
  if (open.empty()) return Verdict::execute;
  if (random_.one_in(3)) {
    // Memory sees one, or the oldest of a kind lands.
    Deferred* deferred = open[random_.below(open.size())];
    if (deferred->outstanding > 1 && random_.one_in(2)) --deferred->outstanding;
    if (random_.one_in(2))
      for (Deferred* older : open)
        if (older->share().kind == deferred->share().kind && may_land(*older)) {
          deferred = older;
          break;
        }
    if (!deferred->accessed && may_touch_memory(*deferred))
      if (const Verdict verdict = touch_memory(*deferred); verdict != Verdict::execute) return verdict;
    if (deferred->accessed && may_land(*deferred) && random_.one_in(2)) {
      land(*deferred);
      forget_done();
    }
  }
  return random_.one_in(32) ? stall() : Verdict::execute;
}

Verdict DependencyCounters::land_overdue() {
  bool any = false;
  for (const Handle& handle : deferred_) {
    if (steps_ - handle->issued_at < kPatience) break;
    if (handle->landed) continue;
    if (!handle->accessed)
      if (const Verdict verdict = touch_memory(*handle); verdict != Verdict::execute) return verdict;
    land(*handle);
    any = true;
  }
  if (any) forget_done();
  return Verdict::execute;
}

// The wave waits for others, who may wait for its stores.
void DependencyCounters::land_while_waiting() {
  if (wave_.state != WaveState::at_barrier) return;
  for (const Handle& handle : deferred_) {
    if (handle->landed) continue;
    if (!handle->accessed && touch_memory(*handle) != Verdict::execute) {
      // It will fault again where the wave waits for it, and then by its own turn.
      wave_.fault = {};
      break;
    }
    land(*handle);
  }
  wave_.state = WaveState::at_barrier;
  forget_done();
}

}  // namespace lockstep::precise
