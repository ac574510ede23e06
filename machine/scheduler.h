// The work-groups of one dispatch and who works on them: each runs on one thread at a time; a group that does
// not finish in its slice is parked and another one runs, so groups that wait for each other all make
// progress.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "machine/group_context.h"
#include "machine/launch.h"
#include "machine/reuse.h"
#include "machine/start_order.h"

namespace lockstep::machine {

// Throws std::invalid_argument for what no hardware would take.
void check(const Launch& launch);
// Throws std::invalid_argument if they cannot be counted.
uint64_t group_count(const Launch& launch);

class Scheduler {
 public:
  // Wave-instructions of a group before another one gets the thread: some milliseconds.
  static constexpr int64_t kSlice = 1'000'000;
  // Of one that was parked: it may wait for others, which need the thread. Each calm slice doubles the next.
  static constexpr int64_t kLaterSlice = 50'000;
  // Behind so many it is another group's turn all the same: this one may never end.
  static constexpr unsigned kCalmSlicesInARow = 8;

  // Throws std::invalid_argument for a group that the launch's device never has room for. All must outlive
  // this. `options.cancel` and `options.suspended` may be set at any time.
  Scheduler(const Launch& launch, const RunOptions& options, Engine& engine, Reuse& reuse);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Works until nothing is left to do; waits while other threads run all that is resident.
  void work();

  enum class Step : uint8_t {
    worked,   // ran a group for a slice; there may be more to do
    spun,     // likewise, but all groups that could run have only spun for a while: look again a bit later
    nothing,  // other threads run all that there is, or its waves wait for those of other dispatches
    finished  // the dispatch ended with this step; said once
  };
  // Runs one group for about `budget` wave-instructions, without ever waiting; adds what was executed.
  Step step(int64_t budget, uint64_t& executed);
  // With `options.suspended` set: waits until no wave executes anything any more, and lets others have the
  // places of all groups. When it is not set any more they get places again before new groups do.
  void stand_still();

  // How long to rest after so many rounds in which nothing changed: the longer the more.
  static std::chrono::microseconds rest_after(uint64_t rounds) {
    return std::chrono::microseconds(50) * (1u << std::min<uint64_t>(rounds, 5));
  }

  // What came of the dispatch, which is over; its place on the device is free again.
  void report(Outcome& outcome);

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};

  // Groups that a thread claims at once, and wave-instructions after which it gives back what it has not
  // started of them: a part of a millisecond.
  static constexpr uint64_t kMostClaimed = 256, kClaimWork = 400'000;
  // Times that each group may come back after a fault, all of them asleep or spinning, before they are taken
  // to wait for groups that are gone.
  static constexpr uint64_t kPatienceAfterFault = 1000;
  // How often threads that wait look whether they are to stop.
  static constexpr auto kLook = std::chrono::milliseconds(20);
  // Rounds over all groups without a change for any, after which threads rest between rounds.
  static constexpr uint64_t kStillRounds = 1;

  bool stop_requested() const { return options_.cancel && options_.cancel->load(std::memory_order_relaxed); }
  bool is_suspended() const { return options_.suspended && options_.suspended->load(); }
  GroupContext::Result run_group(GroupContext& context, int64_t budget, uint64_t& executed);
  // What else becomes of a group that has not finished.
  GroupContext::Result after_run(GroupContext& context, GroupContext::Result result);
  // Runs the group that was taken, and others behind it in its place as long as each finishes; gives it back.
  // The lock is not held meanwhile.
  void run_taken(std::unique_lock<std::mutex>& lock, std::unique_ptr<GroupContext> context, int64_t budget,
                 uint64_t& executed);
  // What becomes of a group with a wave that the machine has halted.
  GroupContext::Result after_halt(GroupContext& context);
  WaveFault fault_of(const GroupContext& context, const Wave& wave) const;
  // All below with the lock held.
  bool over() const;
  // The next group to run: a new one while there is room, else the one parked longest; in random order any.
  enum class Taken : uint8_t { group, wait, nothing };
  // `budget`, wave-instructions, is made less where a limit says so.
  Taken take(std::unique_lock<std::mutex>& lock, std::unique_ptr<GroupContext>& context, int64_t& budget);
  void give_back(std::unique_ptr<GroupContext> context, GroupContext::Result result, uint64_t executed,
                 int64_t budget);
  // Rounds over all groups that could run in which each only waited for what others do: at the end of one
  // such round, and 0 before.
  uint64_t still_rounds() const;
  // Gives the processor to others for a moment, if there is nothing but waiting to do.
  void rest(std::unique_lock<std::mutex>& lock);
  // Of the group that is started behind `number` others.
  GroupPlace place_at(uint64_t number) { return place_of(launch_, start_order_.group_at(number)); }
  // Wave-instructions for the next slice, where turns are of random length; else `budget`.
  int64_t slice(int64_t budget);
  // Whether a group that was parked is to run before a new one is started, in random order.
  bool prefers_parked();
  // The one that is to run next; the end if none can.
  using Groups = std::list<std::unique_ptr<GroupContext>>;
  Groups::iterator next_parked();
  // Groups that nobody has started, of those numbered below `end`; those that still may be.
  uint64_t unstarted_before(uint64_t end) const;
  uint64_t unstarted() const { return unstarted_before(std::min(totals_.groups_total, fault_number_)); }
  Claim claim_next();
  // Groups for a thread to start without asking for each. Few if they are for other threads, too.
  Claim claim_more();
  void return_claim(const Claim& claim);
  // Wave-instructions that a group may execute now, taken off the limit; 0: none is left.
  int64_t reserve(int64_t wanted);
  void give_back_unused(int64_t reserved);
  bool is_any_held() const;
  bool find_room(std::unique_ptr<GroupContext>& context);
  // To groups that have lent theirs, as far as there is room; whether that is all of them.
  bool give_places_back();
  // Parks groups that are no longer blocked. Drops those behind a fault, and those before it that wait for
  // the host or, as it seems, for ever: the dispatch shall come to its end.
  void sort_groups();
  // All blocked waves wait for others of this dispatch, of which none is left to run: no other dispatch can
  // help them, whether it is there now or comes later.
  bool waits_for_itself() const;
  // All that is resident waits for good.
  void give_up_blocked();
  void record_fault(const GroupContext& context);
  void refuse_entry(uint64_t number);
  void report_progress();
  DispatchEvent event() const;
  // The host need not outlive the dispatch by more than its report.
  void leave_host();

  const Launch& launch_;
  const RunOptions& options_;
  Engine& engine_;
  Reuse& reuse_;
  DispatchState dispatch_;
  precise::HostTraps* host_traps_;  // whose requests wake groups; null: none, or no longer
  Listener* listener_;              // null: none, or no longer
  StartOrder start_order_;
  const bool is_serial_;
  const unsigned threads_;  // that may work at the same time
  DeviceState::Agent agent_;
  // Those of the wake list: threads wait for groups and for released waves at once.
  std::mutex& mutex_;
  std::condition_variable& changed_;
  std::mutex halted_mutex_;
  Progress totals_;
  uint64_t next_ = 0;              // first group that nobody has claimed yet
  uint64_t next_wave_ = 0;         // its first wave
  std::vector<Claim> returned_;    // groups before that, in order, that were claimed and not started
  uint64_t changes_ = 0;           // results of groups some wave of which neither slept nor spun
  uint32_t patient_ = 0;           // groups that have come back kPatienceAfterFault times since the last one
  uint64_t still_in_a_row_ = 0;    // of those that nothing has changed for
  uint64_t reserved_ = 0;          // wave-instructions of the limit that running groups may still use
  uint32_t resident_ = 0;          // started and not finished
  uint64_t fault_number_ = kNone;  // first group that faulted
  bool waits_for_faulted_ = false;
  bool have_lent_places_ = false;  // some of parked_ and blocked_
  bool cancelled_ = false;
  bool limit_exceeded_ = false;
  bool said_finished_ = false;
  std::optional<WaveFault> fault_;
  Groups parked_;
  // Groups all of whose waves wait until one is released, or the host lets one go on.
  std::unordered_map<const WorkGroup*, std::unique_ptr<GroupContext>> blocked_;
  std::vector<std::unique_ptr<GroupContext>> idle_;
  std::chrono::steady_clock::time_point last_report_;
};

}  // namespace lockstep::machine
