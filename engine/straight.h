// Instructions that lead straight on.
#pragma once

#include "isa/instruction.h"

namespace lockstep {

// Whether a wave that executes it goes on behind it, with the same lanes on, in the same modes and in the
// same turn, whatever registers hold: it touches no memory, is sure not to fault, and nobody else has a hand
// in it.
bool goes_straight_on(const isa::Instruction& instruction);

}  // namespace lockstep
