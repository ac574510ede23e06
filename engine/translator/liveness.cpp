#include "engine/translator/liveness.h"

#include "engine/translator/lane_pattern.h"

namespace lockstep::translator {
namespace {

RegisterSet all_vgprs() {
  RegisterSet set;
  for (unsigned i = 0; i < kVgprs; ++i) set.set(i);
  return set;
}

// One step backwards.
LiveSets before(const Effects& effects, LiveSets after, RegisterSet& merged) {
  static const RegisterSet vgprs = all_vgprs();
  LiveSets live = after;
  // EXEC changes after the registers are written: translate "on" and "off" to the EXEC before.
  switch (effects.exec) {
    case ExecChange::none:
      break;
    case ExecChange::shrinks:  // lanes that were on may be off now
      live.on |= after.off;
      break;
    case ExecChange::grows:  // lanes that were off may be on now
      live.off |= after.on & vgprs;
      break;
    case ExecChange::any:
      live.on |= after.off;
      live.off |= after.on & vgprs;
      break;
  }
  merged = effects.writes & live.off;
  live.on &= ~effects.writes;
  live.on |= effects.reads;
  return live;
}

void find_live(const Routine& routine, Facts& facts) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t b = routine.blocks.size(); b-- > 0;) {
      const Block& block = routine.blocks[b];
      LiveSets live;
      for (int successor : {block.taken, block.next}) {
        if (successor < 0) continue;
        live.on |= facts.blocks[successor].live_in.on;
        live.off |= facts.blocks[successor].live_in.off;
      }
      // Every way out of translated code needs EXEC.
      live.on.set(kExec);
      for (unsigned n = block.last; n-- > block.first;) {
        NodeFacts& node = facts.nodes[n];
        live = before(node.effects, live, node.merged);
        live.on.set(kExec);
        node.live = live;
      }
      LiveSets& entry = facts.blocks[b].live_in;
      if (live.on != entry.on || live.off != entry.off) {
        entry = live;
        changed = true;
      }
    }
  }
}

// Held registers: held at the end of every predecessor. An entry through a stub that loads everything does
// not count; an entry block without other predecessors starts with nothing.
void find_held(const Routine& routine, Facts& facts) {
  std::vector<RegisterSet> touched(routine.blocks.size()), written(routine.blocks.size());
  for (size_t b = 0; b < routine.blocks.size(); ++b) {
    for (unsigned n = routine.blocks[b].first; n < routine.blocks[b].last; ++n) {
      const NodeFacts& node = facts.nodes[n];
      touched[b] |= node.effects.reads | node.effects.writes;
      written[b] |= node.effects.writes;
    }
    // Conditions of branches and masked accesses read it.
    touched[b].set(kExec);
    if (!routine.blocks[b].predecessors.empty()) facts.blocks[b].held.set();
  }
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t b = 0; b < routine.blocks.size(); ++b) {
      const Block& block = routine.blocks[b];
      BlockFacts& block_facts = facts.blocks[b];
      if (block.predecessors.empty()) continue;
      RegisterSet held = block_facts.live_in.all(), dirty;
      for (unsigned p : block.predecessors) {
        held &= facts.blocks[p].held | touched[p];
        dirty |= facts.blocks[p].dirty | written[p];
      }
      dirty &= held;
      if (held != block_facts.held || dirty != block_facts.dirty) {
        block_facts.held = held;
        block_facts.dirty = dirty;
        changed = true;
      }
    }
  }
}

}  // namespace

Facts analyse(const Routine& routine) {
  Facts facts;
  for (const Node& node : routine.nodes) facts.nodes.emplace_back().effects = effects_of(node);
  facts.blocks.resize(routine.blocks.size());
  find_live(routine, facts);
  find_held(routine, facts);
  const std::vector<bool> uniform = guess_uniform_addresses(routine);
  for (size_t n = 0; n < facts.nodes.size(); ++n) facts.nodes[n].lds_uniform = uniform[n];
  return facts;
}

}  // namespace lockstep::translator
