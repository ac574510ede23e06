// What instructions do with masks of lanes, seen from one lane, to which each mask is a bit.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/translator/registers.h"
#include "isa/instruction.h"

namespace lockstep::translator {

// What an instruction of the scalar ALU computes for each lane by itself. Bits of sources and of EXEC.
enum class MaskOperation : uint8_t { move, invert, both, either, one, first_only, first_or_not };
struct MaskInstruction {
  MaskOperation operation;
  bool saves_exec = false;  // the result goes to EXEC, and the old EXEC to the destination
};

std::optional<MaskInstruction> mask_instruction(isa::Opcode opcode, unsigned wave_size);
bool result_of(MaskOperation operation, bool a, bool b);

// Scalar registers that an instruction reads as numbers, and not as a bit for each lane.
RegisterSet numbers_read(const isa::Instruction& instruction);

// Whether it reads registers and constants only, of which the latter are the same for all lanes, and has a
// destination.
bool are_bits_of_lanes(const isa::Instruction& instruction);

// Whether it makes a mask of all lanes or none by SCC, as compilers do of what all lanes have alike.
bool makes_alike_mask(const isa::Instruction& instruction, unsigned wave_size);

}  // namespace lockstep::translator
