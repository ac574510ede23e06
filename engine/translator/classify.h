// What the translator does with an instruction.
#pragma once

#include <cstdint>
#include <optional>
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
// Whether a jump is a call, with a destination for the address behind it.
bool is_function_call(const isa::Instruction& jump);
bool names_vgpr(const isa::Instruction& instruction);

// s_round_mode, s_denorm_mode and s_setreg_imm32_b32 on MODE (guide 3.4.2, 16.1, 16.5).
struct ModeWrite {
  uint32_t mask, bits;  // of MODE
};
std::optional<ModeWrite> constant_mode_write(const isa::Instruction& instruction);
// Whether it may write MODE in any way.
bool may_write_mode(const isa::Instruction& instruction);

// The instructions whose bodies the instruction is made of: itself, or both halves of a VOPD pair.
struct Half {
  const isa::Row* row;
  unsigned first, last;  // operands
};
std::vector<Half> halves_of(const isa::Instruction& instruction);

}  // namespace lockstep::translator
