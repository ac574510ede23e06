// Groups that run behind one that has finished, in its storage: one after the other, or whole rows of the
// grid.
#include <algorithm>
#include <array>
#include <cstddef>

#include "machine/group_context.h"
#include "machine/group_memory.h"

namespace lockstep::machine {

namespace {

// The work-group's ids and its info.
constexpr size_t kGroupSgprs = 4;
// Of a row of the grid: a longer row gains little more, and who ends the dispatch waits for all of them.
constexpr uint32_t kGroupsSideBySide = 64;

}  // namespace

GroupContext::Result GroupContext::run_more(const Launch& launch, Engine& engine, Claim& claim,
                                            int64_t budget, uint64_t most, uint64_t& executed) {
  Result result = Result::finished;
  const uint64_t before = executed;
  for (GroupWalk walk(launch, claim.first);
       claim.first < claim.last && result == Result::finished && executed - before < most; walk.advance()) {
    while (run_row(launch, engine, walk, claim, budget, most - (executed - before), executed, result))
      if (claim.first == claim.last || result != Result::finished || executed - before >= most) return result;
    const GroupPlace& place = walk.place();
    if (!relaunch(launch, claim.first, place, claim.first_wave)) break;
    ++claim.first;
    claim.first_wave += place.waves;
    // Where the last group has just ended, this one is likely to.
    const uint64_t executed_before = executed;
    const size_t had_turn = registers_stay_ ? run_turns(turn_of(budget), budget, executed) : 0;
    ended_at_once_ = registers_stay_ && std::ranges::all_of(order_, has_ended);
    if (!ended_at_once_)
      result = run(engine, budget - static_cast<int64_t>(executed - executed_before), executed, had_turn);
  }
  return result;
}

bool GroupContext::run_row(const Launch& launch, Engine& engine, GroupWalk& walk, Claim& claim,
                           int64_t budget, uint64_t most, uint64_t& executed, Result& result) {
  const LaunchNeeds* const needs = adviser_ ? adviser_->launch_needs(mode_) : nullptr;
  if (!needs || !needs->has_rows || !needs->registers_stay) return false;
  if (!may_relaunch_ || !ended_at_once_ || is_followed() || any_sleeping_) return false;
  const bool has_x = (launch.rsrc2 >> 7 & 1) != 0;
  if (!has_x || launch.ordered_append || launch.scratch_bytes != 0 || launch.lds_bytes != 0) return false;
  auto count = static_cast<uint32_t>(std::min<uint64_t>(walk.left_in_row(), claim.last - claim.first));
  const GroupPlace& place = walk.place();
  if (count < 2 || launch.null_waves != 0 || !item_ids_.are_of(place)) return false;
  if (!are_as_launched() || !std::ranges::all_of(order_, has_ended)) return false;

  for (unsigned axis = 0; axis < 3; ++axis) group_.id[axis] = place.id[axis] + launch.first_group[axis];
  for (unsigned i = 0; i < group_.wave_count; ++i) fill_group_sgprs(launch, i, *waves_[i]);
  const uint32_t side_by_side = waves_side_by_side(launch, *needs, place);
  const bool is_one_by_one = side_by_side == group_.wave_count;
  if (!is_one_by_one) count = std::min(count, kGroupsSideBySide);
  GroupRow row;
  row.waves = order_.data();
  row.last_wave = side_by_side;
  const auto count_lanes = [&] {
    row.counting_lanes = row.last_wave * launch.wave_size <= place.items ? item_ids_.counting_lanes : 0;
  };
  count_lanes();
  row.is_one_row = item_ids_.is_one_row;
  const size_t first_id = launch.user_data.size();
  row.x_offset = static_cast<uint32_t>(offsetof(Wave, scalar) + first_id * sizeof(uint32_t));
  const uint32_t first = row.x = group_.id[0];
  row.end = first + count;
  row.turn = turn_of(budget);
  row.most = is_one_by_one ? most : UINT64_MAX;
  const auto lost = with_memory([&] {
    for (;;) {
      adviser_->run_row(row);
      if (row.x != row.end || row.last_wave == group_.wave_count) return;
      row.x = first;
      row.wave = row.first_wave = row.last_wave;
      row.last_wave = std::min(row.last_wave + side_by_side, group_.wave_count);
      count_lanes();
    }
  });
  executed += row.executed;
  const auto begin_at = [&](uint32_t groups) {
    if (groups == 0) return;
    walk.advance_in_row(groups);
    claim.first += groups;
    claim.first_wave += uint64_t{groups} * group_.wave_count;
  };
  const uint32_t before = row.x - first;
  if (!lost && row.wave == row.first_wave && (row.x == row.end || row.executed >= row.most)) {
    begin_at(before);
    group_.number = claim.first - 1;
    return true;
  }

  // The group in work is as if it had been launched by itself, with some waves that have had their turn. Of
  // those before it more have, and of those behind it fewer.
  if (!is_one_by_one) has_left_row_ = true;
  if (before != 0 && row.last_wave != group_.wave_count)
    begun_.push_back({claim.first, claim.first + before, claim.first_wave, row.last_wave});
  begin_at(before);
  Wave& stopped = *order_[row.wave];
  const uint64_t pc = stopped.pc;
  const WaveState state = stopped.state;
  std::array<uint32_t, kGroupSgprs> sgprs;
  std::copy_n(stopped.scalar + first_id, sgprs.size(), sgprs.begin());
  relaunch(launch, claim.first, walk.place(), claim.first_wave);
  skip_ended_waves(row.wave);
  size_t had_turn = row.wave;
  if (lost) {
    fault_for_lost_memory(stopped, *lost);
    ++had_turn;
  } else {
    std::copy(sgprs.begin(), sgprs.end(), stopped.scalar + first_id);
    stopped.pc = pc;
    stopped.state = state;
    stopped.executed_before_turn = row.turn - stopped.budget;
    executed += static_cast<uint64_t>(stopped.executed_before_turn);
  }
  begin_at(1);
  if (const uint32_t behind = count - before - 1; behind != 0 && row.first_wave != 0) {
    begun_.push_back({claim.first, claim.first + behind, claim.first_wave, row.first_wave});
    begin_at(behind);
  }
  result = run(engine, budget, executed, had_turn);
  return true;
}

uint32_t GroupContext::waves_side_by_side(const Launch& launch, const LaunchNeeds& needs,
                                          const GroupPlace& place) const {
  // Where groups run side by side a wave that leaves the row is dear.
  if (!needs.go_side_by_side || has_left_row_) return group_.wave_count;
  const uint32_t items = place.size[0];
  const uint32_t waves = items / launch.wave_size;
  // Of two the first one of all groups, then the second: in the inner loop only the groups' x changes. Rows
  // of more are faster in order.
  if (items % launch.wave_size == 0) return waves == 2 && group_.wave_count > 2 ? 1 : waves;
  // The full waves, then the last one of each group.
  if (waves != 0 && place.items == items) return waves;
  return launch.wave_size % items == 0 ? 1 : group_.wave_count;
}

void GroupContext::skip_ended_waves(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) order_[i]->state = WaveState::ended;
}

// What run_wave() does beside running a wave is for those that sleep, or that somebody follows.
size_t GroupContext::run_turns(int64_t turn, int64_t budget, uint64_t& executed) {
  if (!adviser_ || is_followed() || any_sleeping_ || !adviser_->launch_needs(mode_)) return 0;
  // A lone wave goes on behind a barrier.
  if (group_.wave_count == 1 && !registers_stay_) return 0;
  const uint64_t before = executed;
  size_t next;
  do {
    next = 0;
    const auto lost = with_memory([&] { adviser_->run_turns(order_, turn, next, executed); });
    if (lost) fault_for_lost_memory(*order_[next++], *lost);
  } while (next == order_.size() && static_cast<int64_t>(executed - before) < budget && pass_barrier());
  clock_ += static_cast<int64_t>(executed - before);
  return next;
}

// If all waves that still run have arrived; those that ended count as arrived (guide 5.5).
bool GroupContext::pass_barrier() {
  bool any_waits = false;
  for (const Wave* wave : order_) {
    if (wave->state == WaveState::at_barrier)
      any_waits = true;
    else if (!has_ended(wave))
      return false;
  }
  if (!any_waits) return false;
  for (Wave* wave : order_)
    if (wave->state == WaveState::at_barrier) wave->state = WaveState::ready;
  return true;
}

}  // namespace lockstep::machine
