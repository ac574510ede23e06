// What the translator does with an instruction.
#pragma once

#include <string>
#include <vector>

#include "engine/translator/routine.h"

namespace lockstep::translator {

// The kind; of steps and what is outside with the reason. Operands out of the wave's registers are replaced
// by those that are used in their place.
NodeKind classify(isa::Instruction& instruction, unsigned wave_size, unsigned vgpr_count,
                  std::string& reason);

// Whether it gives the wave's VGPRs back (guide 5.3); the translator does so only where nothing follows that
// could miss them.
bool frees_vgprs(const isa::Instruction& instruction);
bool names_vgpr(const isa::Instruction& instruction);

// The instructions whose bodies the instruction is made of: itself, or both halves of a VOPD pair.
struct Half {
  const isa::Row* row;
  unsigned first, last;  // operands
};
std::vector<Half> halves_of(const isa::Instruction& instruction);

}  // namespace lockstep::translator
