// What single instructions make of their operands, for those who execute or check them.
#pragma once

#include "isa/instruction.h"

namespace lockstep::isa {

// The shift of these is 16 bits wide, so OPSEL applies to it (guide table 27).
constexpr bool has_half_shift(Opcode opcode) {
  return opcode == Opcode::v_alignbit_b32 || opcode == Opcode::v_alignbyte_b32;
}

// Whether Operand::high and high_hi of this operand change what is read. The dot products of bytes and
// nibbles take OPSEL and OPSEL_HI for src0 and src1, but not for inline constants (guide 7.5.1).
inline bool chooses_halves(const Operand& operand, const Row& row) {
  if (row.encoding == Encoding::vop3)
    return operand.high && operand.role == Role::src2 && has_half_shift(row.opcode);
  if (row.encoding != Encoding::vop3p || row.flags & kMatrix) return false;
  switch (operand.type) {
    case Type::pk_i8:
    case Type::pk_u8:
    case Type::pk_i4:
    case Type::pk_u4:
      return (operand.high || !operand.high_hi) &&
             (operand.code < code::kInt0 || operand.code >= code::kLiteral);
    default:
      return false;
  }
}

// Dot products outside VOP3P read the low half of an inline constant in both elements (guide 7.2.1, 7.5.1).
constexpr bool repeats_inline_constants(Opcode base) {
  switch (base) {
    case Opcode::v_dot2_f16_f16:
    case Opcode::v_dot2_bf16_bf16:
    case Opcode::v_dot2acc_f32_f16:
    case Opcode::v_dual_dot2acc_f32_bf16:
      return true;
    default:
      return false;
  }
}

// Whether the high element of a packed operand is the high half, and whether it is negated. Outside VOP3P
// there is neither OPSEL_HI nor NEG_HI: it is, and NEG is for both elements (LLVM).
inline bool high_element_is_high_half(const Operand& operand, const Row& row) {
  if (row.encoding == Encoding::vop3p) return operand.high_hi;
  const bool is_inline_constant = operand.code >= code::kInt0 && operand.code < code::kLiteral;
  return !is_inline_constant || !repeats_inline_constants(row.base);
}
inline bool high_element_is_negated(const Operand& operand, const Row& row) {
  return row.encoding == Encoding::vop3p ? operand.neg_hi : operand.neg;
}

// M0 and EXEC as the destination of a vector instruction: it cannot write them (guide 7.1, VDST and
// SDST; 3.4.3; 7.2.5), so they are out of range. V_CMPX does not name EXEC, it implies it.
inline bool is_beyond_vector_alu(const Operand& operand, const Row& row) {
  return is_vector_alu(row.encoding) && operand.written && !(row.flags & kWritesExec) &&
         operand.code >= code::kM0 && operand.code <= code::kExecHi;
}

}  // namespace lockstep::isa
