// What M0 must hold where an instruction reads fields of it (guide 3.4.3, table 7).
#pragma once

#include <string>

#include "engine/precise/unit.h"

namespace lockstep::precise {

// What the instruction finds wrong in M0, or nothing. Data types of lds_direct_load that are reserved fault,
// checked or not.
std::string broken_m0_rule(const Step& step);
bool has_m0_rule(isa::Opcode opcode);

}  // namespace lockstep::precise
