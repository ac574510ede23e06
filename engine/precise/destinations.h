// What an instruction's destinations hold where memory gave nothing back.
#pragma once

#include "isa/instruction.h"
#include "state/wave.h"

namespace lockstep::precise {

// Sets what a memory instruction writes to zero in `lanes`; scalar destinations whatever the lanes.
void clear_destinations(Wave& wave, const isa::Instruction& instruction, uint64_t lanes);

}  // namespace lockstep::precise
