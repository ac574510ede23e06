// Loads and stores in loops whose lanes each walk through memory: an element in each round, the next one in
// the next round.
#pragma once

#include <span>
#include <vector>

#include "engine/translator/loop_accesses.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

// Words of each lane that are loaded ahead at once, or kept and stored at once: as many as a cache line has;
// when a walk begins, and before a range's end, a few, for many are short.
inline constexpr unsigned kLineWords = 16, kFewWords = 8;

struct WalkingLoad {
  unsigned node, block;
  // Each lane that is on in a round is, in the code itself, one element behind where it was in the last one,
  // and the loop changes nothing in memory.
  bool is_certain = false;
};
// Such loads of a piece, as far as the code lets one expect it; whether they do is seen when the code runs.
std::vector<WalkingLoad> find_walks(const Routine& routine, unsigned piece);
// Of those accesses.
std::vector<WalkingLoad> find_walks(const Routine& routine, std::span<const LoopAccess> accesses);

// A store in a loop that is one block, whose lanes turn off and never on: each lane that is on in a round is
// one element behind where it was in the last one, and nothing else there changes memory or may see it but
// loads.
struct WalkingStore {
  unsigned node, block;
};
std::vector<WalkingStore> find_walking_stores(const Routine& routine, unsigned piece);

}  // namespace lockstep::translator
