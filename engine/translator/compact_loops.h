// Loops in which a wave may go on with the lanes that are on, side by side in one chunk: those that lanes
// leave one by one, and those in branches that may be of few lanes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/translator/liveness.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

// What the lanes that were off when the loop was made compact have in a mask.
struct BitsOfOthers {
  enum class Kind : uint8_t { zeros, ones, begin, unknown };
  Kind kind = Kind::unknown;
  unsigned number = 0;  // begin: what this mask had for them
  bool operator==(const BitsOfOthers&) const = default;
};

struct CompactLoop {
  std::vector<unsigned> blocks;  // its header, and the others in address order
  RegisterSet touched, written;  // by its instructions
  // Scalar registers that are masks of lanes at the header, by their first registers. The others are numbers.
  RegisterSet masks;
  // By block, of the loop and right behind it, and by first register: masks that are needed there and may
  // have changed. What else has changed is a number.
  std::map<unsigned, std::map<unsigned, BitsOfOthers>> masks_at;
  // Likewise, by node, right behind what changes memory.
  std::map<unsigned, std::map<unsigned, BitsOfOthers>> masks_behind;
  bool do_lanes_leave = false;  // one by one; else all lanes that begin the loop do all of its rounds
  // What a round is: vector instructions, of which one of the transcendental unit counts as 20, those of them
  // that are pairs, and accesses of memory.
  unsigned operations = 0, pairs = 0, accesses = 0;
};

// Of a piece, by the header. Such a loop changes registers and, each lane at its own place, memory; it looks
// at no other lane. The wave takes the same branches without the lanes that are off at its header, which come
// on no more before it has left, and its scalar registers are the same numbers, or masks without the bits of
// these. Lanes keep their order, in which they are at the same place.
std::map<unsigned, CompactLoop> find_compact_loops(const Routine& routine, const Facts& facts,
                                                   unsigned piece);

}  // namespace lockstep::translator
