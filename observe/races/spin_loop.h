// Loads that a loop repeats until they give what it waits for: flags.
#pragma once

#include <cstdint>

#include "isa/instruction.h"

namespace lockstep::observe {

// Whether the load at `pc` is the only thing in a loop that touches memory, and always reads the same place:
// then others must change what is there, and what they store is atomic in the source. The code around it must
// be readable as far as a wave executes it.
bool is_in_spin_loop(const isa::Instruction& load, uint64_t pc, unsigned wave_size);

}  // namespace lockstep::observe
