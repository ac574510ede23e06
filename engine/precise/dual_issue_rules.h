// Rules of VOPD, two instructions in one (guide 7.6). The hardware does not work where they are broken; here
// the pair is executed all the same.
#pragma once

#include <string>

#include "isa/instruction.h"

namespace lockstep::precise {

// What a VOPD instruction breaks first, or nothing.
std::string broken_dual_issue_rule(const isa::Instruction& instruction, unsigned wave_size);
// Likewise, of the rule that LLVM does not keep.
std::string doubted_dual_issue_rule(const isa::Instruction& instruction, unsigned wave_size);

}  // namespace lockstep::precise
