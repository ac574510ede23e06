// Loops of several blocks that a wave may go through lane by lane: each lane that is on takes its own
// branches before the next one begins.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "engine/translator/liveness.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

struct DivergentLoop {
  unsigned exit = 0;             // the one block behind it
  std::vector<unsigned> blocks;  // its header, and the others in address order
  RegisterSet touched;           // by its instructions
  RegisterSet written;
  // Scalar registers that begin as masks of lanes. The others that are read begin as numbers, the same for
  // all lanes.
  RegisterSet masks_at_begin;
  // Of those that are written and needed behind it.
  RegisterSet masks_at_end, numbers_at_end;
  // Bits that masks have in any case, for each lane that goes through the loop: at the begin of a block, and
  // behind a node. By that and the register.
  std::map<std::pair<unsigned, unsigned>, bool> bits_at_begin, bits_behind;
  // Blocks so short that lanes that are off go through them, too, instead of a branch that hosts cannot
  // foresee.
  std::set<unsigned> without_branch;
  std::vector<unsigned> loads;  // nodes
  // Dwords of scratch at constant places, by their first bytes, that are loaded or stored. What is stored
  // nobody reads behind the loop.
  std::set<uint32_t> scratch;
  bool has_scratch_array = false;  // or at places that lanes compute: all of the lane's
  // Host instructions, roughly: of a round of the wave's, without accesses and of these, which move lanes one
  // by one, and of a round of one lane.
  unsigned wave_cost = 0, wave_moves = 0, lane_cost = 0;
};

// By the header. What such a loop does cannot be told from outside: it changes nothing but registers, looks
// at no other lane, each lane finds the numbers that the wave would have, and what the wave does in branches
// that a lane does not take leaves this lane alone, masks included.
std::map<unsigned, DivergentLoop> find_divergent_loops(const Routine& routine, const Facts& facts);

}  // namespace lockstep::translator
