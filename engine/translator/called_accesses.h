// Which GLOBAL and FLAT accesses are calls of a runtime function as a whole
// (lockstep_translator_wave_access), with all registers in the Wave before it and behind it.
#pragma once

#include "engine/translator/liveness.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

// Sets NodeFacts::access_call. Everything but what blocks hold must be known.
void find_called_accesses(const Routine& routine, Facts& facts);

}  // namespace lockstep::translator
