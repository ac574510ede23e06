// Which registers translated code holds itself where, and which of these may differ from the Wave.
#pragma once

#include "engine/translator/liveness.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

// BlockFacts::held and dirty; what is live must be known.
void find_held(const Routine& routine, Facts& facts);

}  // namespace lockstep::translator
