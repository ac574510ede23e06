// How values vary between the lanes of a chunk, as far as the code tells.
#pragma once

#include <vector>

#include "engine/translator/liveness.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

// Guesses, tested when the code runs: they rest on work-groups whose rows are multiples of 16 items.
struct LanePatterns {
  std::vector<bool> has_uniform_address;  // by node, of LDS instructions: the same in all lanes of a chunk
  std::vector<bool> has_loaded_address;   // by node, of GLOBAL: computed from what memory holds
  std::vector<Strides> strides;           // by block
};
LanePatterns guess_lane_patterns(const Routine& routine);

}  // namespace lockstep::translator
