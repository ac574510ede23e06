// The storage of one resident work-group: waves, VGPRs, LDS, scratch. Reused from group to group.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/launch_needs.h"
#include "engine/listener.h"
#include "engine/precise/random.h"
#include "engine/precise/settings.h"
#include "machine/launch.h"
#include "machine/placement.h"
#include "machine/scratch_ring.h"
#include "machine/wave_control.h"
#include "memory/range_user.h"
#include "state/dispatch_state.h"
#include "state/wave.h"
#include "state/work_group.h"

namespace lockstep::precise {
class PreciseEngine;
}

namespace lockstep::machine {

struct FreeDeleter {
  void operator()(void* memory) const { std::free(memory); }
};
using Storage = std::unique_ptr<std::byte, FreeDeleter>;

// Where a work-group lies in the grid.
struct GroupPlace {
  uint32_t id[3];
  uint32_t size[3];  // work-items; the last groups of an axis may be partial
  uint32_t items = 0;
  uint32_t waves = 0;
};
// Of work-group `number` (x fastest).
GroupPlace place_of(const Launch& launch, uint64_t number);
// Of so many work-items in a group, null waves included.
uint64_t waves_of_items(const Launch& launch, uint64_t items);
// What follows from the id.
void measure(const Launch& launch, GroupPlace& place);
uint32_t groups_along(const Launch& launch, unsigned axis);

// Places of groups that follow each other: no divisions by the grid.
class GroupWalk {
 public:
  GroupWalk(const Launch& launch, uint64_t number) : launch_(&launch), place_(place_of(launch, number)) {
    for (unsigned axis = 0; axis < 2; ++axis) groups_[axis] = groups_along(launch, axis);
    whole_in_row_ = launch.grid[0] / launch.group[0];
    left_in_row_ = whole_in_row_ - std::min(whole_in_row_, place_.id[0]);
  }
  const GroupPlace& place() const { return place_; }
  // Whole groups of the row, from this one on.
  uint32_t left_in_row() const { return left_in_row_; }
  // This one, and those of its row that are as large.
  uint32_t alike_in_row() const { return std::max(left_in_row_, 1u); }
  // At most so many.
  void advance_in_row(uint32_t groups) {
    place_.id[0] += groups - 1;
    left_in_row_ -= groups - 1;
    advance();
  }
  void advance() {
    ++place_.id[0];
    // The next one of the row is as large; the last may be partial.
    if (left_in_row_ > 1) {
      --left_in_row_;
      return;
    }
    left_in_row_ = 0;
    if (place_.id[0] == groups_[0]) {
      place_.id[0] = 0;
      left_in_row_ = whole_in_row_;
      if (++place_.id[1] == groups_[1]) {
        place_.id[1] = 0;
        ++place_.id[2];
      }
    }
    measure(*launch_, place_);
  }

 private:
  const Launch* launch_;
  GroupPlace place_;
  std::array<uint32_t, 2> groups_;  // along x and y
  uint32_t whole_in_row_ = 0, left_in_row_ = 0;
};

// Work-groups [first, last) of a dispatch, for one thread to start in this order.
struct Claim {
  uint64_t first = 0, last = 0;
  uint64_t first_wave = 0;   // of group `first`: its number in the dispatch
  uint32_t ended_waves = 0;  // the first so many of each group have run already
};

// SGPRs that waves of the launch find filled: user data, work-group ids, work-group info (guide 3.5.3.4).
unsigned initial_sgprs(const Launch& launch);

// What a work-group of the launch takes of the device.
PlacementNeeds placement_needs(const Launch& launch);

inline bool has_ended(const Wave* wave) {
  return wave->state == WaveState::ended;
}

class GroupContext {
 public:
  explicit GroupContext(const Launch& launch);
  ~GroupContext();
  GroupContext(const GroupContext&) = delete;
  GroupContext& operator=(const GroupContext&) = delete;

  // Takes a place on the launch's device for the groups that will be started, if it has none yet; false if
  // there is no room now.
  bool take_place(const Launch& launch);
  void leave_place();
  // Of a group that has not finished and stands still: others may have its wave slots, registers and LDS
  // until it takes a place again, where it likes; false if there is no room for it now. Its scratch stays
  // where it is. Nothing of a group that no device has placed.
  void lend_place();
  bool take_place_again(const Launch& launch);
  bool has_lent_place() const { return has_lent_place_; }
  // Of a group that has not finished: the wave slots and VGPRs of waves that have ended, and the VGPRs that
  // waves have given back (guide 5.3, message 3), are for other groups.
  void give_up_unused();
  // Whether the next group can have the place.
  bool has_whole_place() const { return place_.is_whole(); }

  // Whether groups of that launch have the size of those that this was made for.
  bool fits(const Launch& launch) const;
  // The groups to come are another dispatch's.
  void begin_dispatch() { may_relaunch_ = has_left_row_ = false; }
  size_t bytes() const;  // of storage

  // Launches the waves of work-group `number`, which is at `place`; the first is number `first_wave` of the
  // dispatch. False if the code has no instruction at the entry. `options` must outlive the dispatch.
  bool start(const Launch& launch, uint64_t number, const GroupPlace& place, uint64_t first_wave,
             DispatchState& dispatch, Engine& engine, const RunOptions& options);
  // Of a group that was started: its first waves have ended elsewhere.
  void skip_ended_waves(uint32_t count);
  // Gives up a group that has not finished: its waves must not stay in the queues of the device.
  void abandon();

  enum class Result {
    finished,
    unfinished,
    idle,     // every wave sleeps or spins: others should run first
    blocked,  // no wave can go on until one is released (may_go_on)
    held,     // likewise, or until the host lets one go on
    halted,   // the machine refused a wave's instruction
    faulted,
  };
  // Runs the waves in turn for about `budget` wave-instructions; adds what was executed to `executed`.
  // Returns early if all of them wait for something outside the group: blocked, asleep, or spinning.
  Result run(Engine& engine, int64_t budget, uint64_t& executed) { return run(engine, budget, executed, 0); }
  // Behind a group that has finished: starts and runs those of the claim, each for about `budget`, until one
  // does not finish, cannot be started in the place of the last one, or `most` wave-instructions are
  // executed. What is left of the claim was not started.
  Result run_more(const Launch& launch, Engine& engine, Claim& claim, int64_t budget, uint64_t most,
                  uint64_t& executed);
  // Groups that run_more() has left behind with some waves ended, in order. Its claim counts them as started.
  std::vector<Claim> take_begun() { return std::exchange(begun_, {}); }
  // Whether run_more() may have something to do.
  bool may_run_more() const;
  // Whether run() was called since start().
  bool has_run() const { return has_run_; }
  // Budgets in a row that the group has used up without a wave that was found spinning, of code that waits
  // for no other group: it need not leave the thread soon.
  unsigned calm_slices() const { return calm_slices_; }
  // Binary logarithm of how much longer than usual the next slice of such a group may be, and its turns are.
  unsigned doublings() const { return std::min(calm_slices_, kMostDoublings); }
  // Of a group that was idle twice in a row: nothing has changed for it in between.
  bool stands_still() const { return stands_still_; }
  // How often the result was idle since the other groups' `changes`; this time, too.
  uint64_t count_idle(uint64_t changes) {
    if (std::exchange(idle_since_, changes) != changes) times_idle_ = 0;
    return ++times_idle_;
  }
  uint64_t times_idle(uint64_t changes) const { return idle_since_ == changes ? times_idle_ : 0; }

  // Of a group that was blocked or held.
  bool may_go_on() const;
  bool has_held_wave() const;
  // Whether all waves that wait do so for their turn at ds_ordered_count.
  bool only_turns_are_awaited() const;
  // Of a group whose waves are all blocked for good: the first of them faults.
  void fail_blocked();
  void resume_halted();
  void fail_halted();
  // It is held, until the host resumes it.
  void hold_halted();
  // Likewise of a wave that faulted; false if it is to end the dispatch.
  bool hold_faulted();

  uint64_t number() const { return group_.number; }
  unsigned wave_count() const { return group_.wave_count; }
  const WorkGroup& group() const { return group_; }
  // The first wave in a state that the group has a wave in.
  Wave& wave_in(WaveState state) const;

 private:
  // VGPR 0 of all work-items of a group, kept from group to group: most have the same shape.
  struct ItemIds {
    std::vector<uint32_t> words;
    uint32_t made_size[3] = {};
    unsigned made_components = 0;
    // Of so many lanes, from each multiple of that on, they count up: translated code computes with one
    // scalar for these, or moves them at once. All of a wave, 16, 8 or 4; 0: none of these.
    unsigned counting_lanes = 0;
    bool is_one_row = false;  // from 0 through the group

    bool are_of(const GroupPlace& place) const { return std::ranges::equal(place.size, made_size); }
    void prepare(const GroupPlace& place, unsigned components, unsigned wave_size);
  };

  std::span<uint32_t> scratch_entries() { return std::span(scratch_entries_).first(waves_.size()); }
  void launch_wave(const Launch& launch, const LaunchNeeds* needs, unsigned index, const GroupPlace& place,
                   Wave& wave);
  // In the registers that say where it is.
  void tell_place(const Launch& launch, unsigned index, Wave& wave) const;
  // The part of a launch that differs from group to group.
  void fill_launch_registers(const Launch& launch, unsigned index, const GroupPlace& place, Wave& wave);
  void fill_item_ids(const Launch& launch, unsigned index, const GroupPlace& place, Wave& wave);
  // Whether what the waves have beside their registers is as it was at launch: only the interpreter changes
  // it, and notes its turns.
  bool are_as_launched() const;
  // Launches a group of the shape of the last one, if that has left its waves as they were launched but for
  // registers: some nanoseconds for each.
  bool relaunch(const Launch& launch, uint64_t number, const GroupPlace& place, uint64_t first_wave);
  // Runs groups of the walk's row in one call of translated code, while their waves stay in it; false if that
  // is not possible. Walk and claim are then at the first group that was not begun.
  bool run_row(const Launch& launch, Engine& engine, GroupWalk& walk, Claim& claim, int64_t budget,
               uint64_t most, uint64_t& executed, Result& result);
  // How many waves of a group run before the next group's, if the groups of a row do not run one by one:
  // those with the first items of their axes y and z, then the next ones. What they access lies side by side.
  uint32_t waves_side_by_side(const Launch& launch, const LaunchNeeds& needs, const GroupPlace& place) const;
  // Gives all waves a turn, if none needs more than its translated code; else those before the first that
  // does. Returns how many. Where all of them have come to a barrier or their end, they go on behind it, as
  // long as the budget lasts.
  size_t run_turns(int64_t turn, int64_t budget, uint64_t& executed);
  bool pass_barrier();
  // The first `had_turn` waves have had a turn in this pass.
  Result run(Engine& engine, int64_t budget, uint64_t& executed, size_t had_turn);
  bool is_followed() const { return listener_ || control_ || host_traps_; }
  static constexpr unsigned kMostDoublings = 5;
  // Of a wave, in a group with that budget.
  int64_t turn_of(int64_t budget) const;
  void clear_lds(const Launch& launch);
  void clear_vgprs(const Launch& launch, const LaunchNeeds* needs, Wave& wave);
  // The work-group's ids, and its info for wave `index` (guide 3.5.3.4).
  void fill_group_sgprs(const Launch& launch, unsigned index, Wave& wave);
  // Of a wave, or of all that are ready, if they spin: the same as long as they do so in the same state.
  std::optional<uint64_t> spin_mark(Engine& engine, Wave& wave, uint64_t& executed);
  std::optional<uint64_t> all_ready_waves_spin(Engine& engine, uint64_t& executed);
  // Whether the wave spins whose turn it is to be looked at.
  bool next_wave_spins(Engine& engine, uint64_t& executed);
  uint64_t sleepers_mark() const;
  Result idle(const Engine& engine, uint64_t mark);
  // The order of turns among waves of the same priority, of the pass that begins.
  void rank_waves();
  void sort_by_priority();
  // Wave-instructions of a wave's next turn: `most`, or at random up to so many, and to what the group has
  // left.
  int64_t turn_within(int64_t most, int64_t budget);
  int64_t time_to_wake(int64_t limit) const;
  // The sleeping waves: those whose time has come, or all but the one that wakes the others.
  void wake(const Wave* except);
  void skip_to_next_wake();
  void leave_control();
  void tell_end();
  bool has_requests() const { return host_traps_ && host_traps_->count() != requests_seen_; }
  void fault_for_lost_memory(Wave& wave, uint64_t address);
  void take_memory();
  // Runs waves: what they find in memory holds until it is done. As guarded() otherwise.
  // In group_memory.h, for those who run them.
  template <class Work>
  std::optional<uint64_t> with_memory(Work&& work);
  int64_t run_wave(Engine& engine, Wave& wave, int64_t turn);
  // What run() is to say at once because of that wave.
  std::optional<Result> stop_of(Wave& wave);
  // Of a wave that faulted in an engine without trap handlers: its handler's engine has it from here on, if
  // there is a handler for that.
  bool enter_trap_handler(Wave& wave);
  bool is_taken_over(const Wave& wave) const { return taken_over_ >> wave.index_in_group & 1; }

  WorkGroup group_;
  ItemIds item_ids_;
  std::vector<Wave*> waves_;
  std::vector<Wave*> order_;  // those of the present group, in the order of their turns
  precise::Order turn_order_ = precise::Order::forward;     // of the present group's dispatch
  precise::Random random_{0};                               // of random order
  std::array<uint8_t, GroupPlacement::kMaxWaves> ranks_{};  // of waves_
  std::vector<int64_t> wake_times_;                         // of waves_; on clock_
  int64_t clock_ = 0;          // wave-instructions and sleeping time of the group
  bool any_sleeping_ = false;  // perhaps
  Storage wave_storage_, vgpr_storage_, lds_storage_, scratch_storage_;
  size_t scratch_bytes_per_wave_ = 0;
  unsigned wave_size_ = 0;
  std::shared_ptr<Placement> placement_;  // that `place_` is of; null: no place
  GroupPlacement place_;
  bool has_lent_place_ = false;
  std::shared_ptr<ScratchRing> scratch_ring_;  // that `scratch_entries_` are of, with the place
  std::array<uint32_t, GroupPlacement::kMaxWaves> scratch_entries_{};
  std::shared_ptr<const RangeSet> memory_;  // that the waves' caches of ranges are about
  RangeUser memory_user_;                   // of that
  uint64_t memory_version_ = 0;
  // Of all waves of the present group.
  unsigned wave_vgprs_ = 0;
  uint32_t lds_alloc_ = 0;
  uint32_t mode_ = 0;  // MODE at launch
  // The next group may be relaunch()ed: nobody follows the waves, what they find is zero, and the dispatch is
  // the same.
  bool may_relaunch_ = false;
  // All waves of the last group ended in their first turn.
  bool ended_at_once_ = false;
  // A wave of the dispatch has left a row of groups that ran side by side.
  bool has_left_row_ = false;
  std::vector<Claim> begun_;
  bool registers_stay_ = false;  // the present group found its registers as the last one's launch left them
  LaunchAdviser* adviser_ = nullptr;  // of the present group's dispatch; may be null
  bool has_run_ = false;
  unsigned calm_slices_ = 0;
  size_t next_looked_at_ = 0;  // place in order_, of the wave that is looked at next
  bool stands_still_ = false;
  uint64_t idle_since_ = 0, times_idle_ = 0;
  std::optional<uint64_t> idle_mark_;               // of the waves when all of them slept or spun last
  const precise::HostTraps* host_traps_ = nullptr;  // of the present group's dispatch; may be null
  size_t requests_seen_ = 0;                        // of them, by waves that wait
  Listener* listener_ = nullptr;                    // that knows the present group; may be null
  WaveControl* control_ = nullptr;                  // that knows the present group; may be null
  TrapEntry* traps_ = nullptr;                      // of the present group's dispatch; may be null
  precise::PreciseEngine* trap_engine_ = nullptr;   // of that, if a wave needs it
  uint32_t taken_over_ = 0;                         // by that: a bit for each wave
  const Wave* lost_memory_ = nullptr;  // the wave whose turn ended in the middle of an instruction
  const std::atomic<bool>* has_commands_ = nullptr;  // of it, for this group; null without one
  const std::atomic<bool>* suspended_ = nullptr;     // of the present group's dispatch; may be null
};

}  // namespace lockstep::machine
