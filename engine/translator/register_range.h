// What becomes of an instruction that names VGPRs which the wave does not have, or scalar registers that it
// may not write (guide 3.3.1.4, 3.3.2.2). Allocation is known at translation, so that nothing of this is left
// in translated code.
#pragma once

#include "isa/instruction.h"

namespace lockstep::translator {

enum class RangeRule : uint8_t {
  executed,     // as it stands now
  nothing,      // its destination is out of range: it has no effect at all
  interpreted,  // of a group of data registers some are missing
};

// Rewrites sources out of range to the registers that are read in their place.
RangeRule apply_range_rules(isa::Instruction& instruction, unsigned vgpr_count);

}  // namespace lockstep::translator
