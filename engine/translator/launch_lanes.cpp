#include "engine/translator/launch_lanes.h"

#include <algorithm>

#include "engine/translator/effects.h"
#include "engine/translator/lane_follower.h"
#include "engine/translator/operands.h"
#include "engine/translator/worklist.h"

namespace lockstep::translator {

using isa::Opcode;
using isa::Role;

bool knows_all_ways(const Routine& routine) {
  // Waves come to a loop in other ways than from its launch: the loop may be all that there is of the
  // routine.
  const auto goes_to_entry = [&](const Block& block) {
    const int entry = static_cast<int>(routine.entry_block);
    return block.taken == entry || block.next == entry;
  };
  // Behind these the interpreter executes what is not known here.
  const auto leads_elsewhere = [](const Node& node) {
    return node.kind == NodeKind::outside || node.kind == NodeKind::jump;
  };
  return std::ranges::none_of(routine.blocks, goes_to_entry) &&
         std::ranges::none_of(routine.nodes, leads_elsewhere);
}

LaunchLanes find_launch_lanes(const Routine& routine) {
  if (!knows_all_ways(routine)) return {};
  const LaneFollower follower(routine.wave_size);
  std::vector<LaneFollower::State> entry(routine.blocks.size());
  entry[routine.entry_block] = follower.at_begin();
  LaunchLanes result;
  result.all_on.resize(routine.nodes.size());
  Worklist work(routine.blocks.size());
  work.add(routine.entry_block);
  while (!work.empty()) {
    const unsigned b = work.take();
    LaneFollower::State state = entry[b];
    for (unsigned n = routine.blocks[b].first; n < routine.blocks[b].last; ++n) {
      if (!follower.is_inside(state)) return {};
      result.all_on[n] = follower.all_on(state);
      follower.step(routine.nodes[n], effects_of(routine.nodes[n], routine.wave_size, routine.vgpr_count),
                    state);
    }
    if (!follower.is_inside(state)) return {};
    for (int successor : {routine.blocks[b].taken, routine.blocks[b].next})
      if (successor >= 0 && entry[static_cast<unsigned>(successor)].join(state))
        work.add(static_cast<unsigned>(successor));
  }
  if (!std::ranges::all_of(entry, &LaneFollower::State::reached)) return {};
  return result;
}

bool stays_in_lanes(const Routine& routine, unsigned lanes) {
  // Rows of 16 lanes, as DPP has them, and halves of 32 are inside.
  const auto stays = [&](const Node& node) {
    const isa::Instruction& instruction = node.instruction;
    if (node.kind == NodeKind::permute) {
      const Opcode opcode = instruction.row->opcode;
      return opcode == Opcode::v_permlane16_b32 || (lanes % 32 == 0 && opcode != Opcode::v_permlane64_b32);
    }
    if (node.kind != NodeKind::lane_access || instruction.row->opcode == Opcode::v_readfirstlane_b32)
      return true;
    const auto lane = source_of(*instruction.find(Role::src1), instruction);
    return lane && lane->is_constant && lane->value % routine.wave_size < lanes;
  };
  return std::ranges::all_of(routine.nodes, stays) && !find_launch_lanes(routine).all_on.empty();
}

}  // namespace lockstep::translator
