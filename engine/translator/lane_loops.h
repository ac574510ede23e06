// Loops that a wave may go through lane by lane: each lane that is on runs all its rounds before the next one
// begins.
#pragma once

#include <map>
#include <vector>

#include "engine/translator/liveness.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

// Of vector instructions, loads, scalar instructions and what is nothing: whether it cannot be told in which
// order lanes execute it, each with all that follows. Not so of any other.
bool hides_order_of_lanes(const Node& node, const Effects& effects);

struct LaneLoop {
  RegisterSet touched;          // by its instructions
  std::vector<unsigned> masks;  // of lanes: their first registers, EXEC among them
  RegisterSet mask_registers;   // all of these
  // Of these the ones with 0 for each lane that begins a round, if that is so for the first one.
  std::vector<unsigned> zero_while_on;
  std::map<unsigned, bool> bits_when_left;  // of masks whose bit is then the same in any case
  std::vector<unsigned> loads;              // nodes
  std::vector<unsigned> walks;  // of them those whose addresses, of 64 bits, go on by an element each round
  // And those whose addresses begin as they are at the header, and go on otherwise: by an element for each
  // lane of the wave, perhaps. Where lanes are side by side there, the wave loads them at once.
  std::vector<unsigned> strides;
};

// By the block that the loop is. What such a loop does cannot be told from outside: it changes nothing but
// registers, looks at no other lane, and a lane that has left it keeps what it has, masks included.
std::map<unsigned, LaneLoop> find_lane_loops(const Routine& routine, const Facts& facts);

}  // namespace lockstep::translator
