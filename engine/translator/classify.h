// What the translator can do with an instruction.
#pragma once

#include <optional>
#include <string>

#include "engine/translator/routine.h"

namespace lockstep::translator {

// The kind, or nothing with the reason in `reason`.
std::optional<NodeKind> classify(const isa::Instruction& instruction, std::string& reason);

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
