// What lanes that are off in a loop may read when they are on again, by all ways that one lane may take.
// Lanes that go off at a `break` leave at the end of their round: other lanes' writes behind it need not keep
// anything for the rounds that these do not have.
#pragma once

#include <vector>

#include "engine/translator/liveness.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

// By node: VGPRs that lanes may read later that are off before it. `facts`: effects, and live registers as
// they are known without this. Empty if nothing is known of any node.
std::vector<RegisterSet> find_read_by_lanes_off(const Routine& routine, const Facts& facts);

}  // namespace lockstep::translator
