// Guesses how LDS addresses vary between the 16 lanes of a chunk. A wrong guess costs time, never
// correctness: the translated code tests it.
#pragma once

#include <vector>

#include "engine/translator/effects.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

// For each node that is an LDS access: whether its address register is likely the same in all lanes of a
// chunk (else likely one element behind the other).
std::vector<bool> guess_uniform_addresses(const Routine& routine);

}  // namespace lockstep::translator
