// Where the value of a scalar operand stands among a wave's scalars, for all who fetch operands.
#pragma once

#include <cstdint>

#include "isa/instruction.h"
#include "state/wave.h"

namespace lockstep {

// The number into Wave::scalar of a source: a register, or an inline constant in the width of the operand,
// whose upper half stands behind it. The slots of the literal (kScalarLiteral) and of VCCZ and EXECZ
// (kScalarConditions) hold their value only while an instruction that reads them executes.
unsigned scalar_slot(const isa::Operand& operand, unsigned wave_size);

// Whether the operand is one of the inline constants that are floats, 0.5 to 1 / (2 pi).
constexpr bool is_float_constant(uint16_t code) {
  return code >= isa::code::kFloatHalf && code <= isa::code::kInverseTwoPi;
}

// The value of a source, literals and conditions among them: 64 bits of an operand that is so wide, else 32.
uint64_t scalar_value(const Wave& wave, const isa::Operand& operand, const isa::Instruction& instruction);

}  // namespace lockstep
