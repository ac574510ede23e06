// The unit that keeps the dependency counters and decides when the results of memory instructions land
// (guide 5.6).
//
// A counted instruction is put off when it is issued: its registers are kept, and it is executed with them
// when the settings let it land. That has two parts. First memory sees it: a store is written, a load reads.
// Later its results reach the registers and the counter goes down, for each kind of instruction in the order
// of issue. Where waits force several to land, each time memory sees one of them the wave's turn ends, so
// that other waves can look at what is there in between.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "engine/precise/deferred.h"
#include "engine/precise/random.h"
#include "engine/precise/settings.h"

namespace lockstep::precise {

class DependencyCounters;

// The waves of each work-group, so that one that runs can let the results of one that waits land.
class Siblings {
 public:
  void join(const WorkGroup* group, DependencyCounters* counters);
  void leave(const WorkGroup* group, DependencyCounters* counters);
  std::vector<DependencyCounters*> of(const WorkGroup* group) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<const WorkGroup*, std::vector<DependencyCounters*>> groups_;
};

class DependencyCounters final : public Unit {
 public:
  DependencyCounters(const Settings& settings, std::shared_ptr<MemoryPath> path,
                     std::shared_ptr<Siblings> siblings, Wave& wave, Executor& executor);
  ~DependencyCounters() override;

  Verdict before(const Step& step) override;
  bool has_pending_results() const override;
  void after(const Step& step) override;

  Counts counts() const;
  // Lets everything land, for a wave that enters or leaves its trap handler (guide 5.1). If not execute, the
  // unit that asks says the same of its instruction.
  Verdict finish();

 private:
  // No result stays away for longer than this many instructions of the wave, so that waves that wait for each
  // other without waiting for their own results get on.
  static constexpr uint64_t kPatience = 1 << 14;

  using Handle = std::unique_ptr<Deferred>;

  // Whether the hardware passes over the instruction (guide 3.2.3).
  bool is_skipped(const isa::Instruction& instruction) const;
  Verdict issue(const Step& step, const Shares& shares);
  // Lets land what must before the counters are down to the limits.
  Verdict come_down_to(const Counts& limits);
  void lower_first_halves(const Counts& limits);
  std::vector<Deferred*> choose_to_land(const Counts& limits);
  Verdict touch_memory(Deferred& deferred);
  void land(Deferred& deferred);
  bool may_touch_memory(const Deferred& deferred) const;
  bool may_land(const Deferred& deferred) const;
  Verdict something_at_random();
  Verdict land_overdue();
  void land_while_waiting();
  void forget_done();
  Verdict stall();

  const Settings settings_;
  const std::shared_ptr<MemoryPath> path_;
  const std::shared_ptr<Siblings> siblings_;
  Wave& wave_;
  Executor& executor_;
  const WorkGroup* const group_;
  Random random_;
  std::vector<Handle> deferred_;   // in the order of issue
  std::vector<Handle> by_others_;  // executed now by the interpreter or another unit, results to be taken
  uint64_t steps_ = 0;
  bool stalled_ = false;  // at the instruction that comes
};

}  // namespace lockstep::precise
