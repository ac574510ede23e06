#include "engine/translator/hot_loops.h"

namespace lockstep::translator {

HotLoops::HotLoops(const Routine& routine, uint64_t hot) : hot_(hot) {
  if (routine.nodes.size() <= kShortRoutine) return;
  const std::vector<unsigned> ends = loop_ends(routine);
  for (unsigned i = 0; i < routine.blocks.size(); ++i) {
    if (ends[i] == 0) continue;
    const unsigned first = routine.blocks[i].first, last = routine.blocks[ends[i] - 1].last;
    if (last - first > kMostLoopNodes) continue;
    const Node& end = routine.nodes[last - 1];
    loops_.push_back({{routine.blocks[i].offset, end.offset + end.instruction.size, last - first,
                       routine.nodes[first].float_mode}});
  }
}

const Loop* HotLoops::add(int64_t offset, uint64_t instructions) {
  const Loop* found = nullptr;
  for (Heated& each : loops_) {
    if (!each.loop.contains(offset)) continue;
    each.heat += instructions;
    if (!each.was_told && each.heat >= hot_ * each.loop.nodes && (!found || each.loop.nodes > found->nodes))
      found = &each.loop;
  }
  if (!found) return nullptr;
  for (Heated& each : loops_) each.was_told |= each.loop.begin >= found->begin && each.loop.end <= found->end;
  return found;
}

}  // namespace lockstep::translator
