// Where EXEC is what the wave was launched with, and whether other lanes ever come on.
#pragma once

#include <vector>

#include "engine/translator/routine.h"

namespace lockstep::translator {

// Whether waves come to blocks from their launch, by the ways that the routine has, and not from other code.
bool knows_all_ways(const Routine& routine);

struct LaunchLanes {
  // By node: all lanes that the wave was launched with are on before it, and no others. Empty where lanes may
  // come on that were not on at launch, or that is not known.
  std::vector<bool> all_on;
};
LaunchLanes find_launch_lanes(const Routine& routine);

// Whether waves that begin with the lowest `lanes` of their lanes, a multiple of 16, or some of these, turn
// on no others, nor read or write them in a register.
bool stays_in_lanes(const Routine& routine, unsigned lanes);

}  // namespace lockstep::translator
