// What lanes that have gone one way of a branch read where they come on again. Liveness as such does not know
// that they do so at its end: in a loop, of which some lanes have left, they might be off until they go the
// other way.
#pragma once

#include "engine/translator/liveness.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

// What is read behind the node, in lanes that are on there: `live`, which liveness says, or less.
RegisterSet read_behind(const Routine& routine, const Facts& facts, unsigned node, const RegisterSet& live);

}  // namespace lockstep::translator
