// How values vary between the lanes of a chunk, as far as the code tells.
#pragma once

#include <optional>
#include <vector>

#include "engine/translator/lane_offsets.h"
#include "engine/translator/liveness.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

// Guesses, tested when the code runs: they rest on work-groups whose rows are multiples of 16 items.
struct LanePatterns {
  // By node, of LDS instructions: from lane to lane of a chunk, if moves can be made of that.
  std::vector<std::optional<uint32_t>> lds_strides;
  // By node, of LDS instructions: from the lowest lane's address to each one's, where that is no such stride.
  std::vector<std::optional<OffsetsOfLanes>> lds_offsets;
  std::vector<bool> has_loaded_address;  // by node, of GLOBAL: from what memory holds for each lane
  std::vector<Strides> strides;          // by block
};
LanePatterns guess_lane_patterns(const Routine& routine);

}  // namespace lockstep::translator
