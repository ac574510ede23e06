#include "engine/scalar_operand.h"

#include "isa/effects.h"

namespace lockstep {

namespace code = isa::code;
using isa::Type;

unsigned scalar_slot(const isa::Operand& operand, unsigned wave_size) {
  const unsigned number = operand.code;
  if (number == code::kLiteral) return kScalarLiteral;
  if (number == code::kVccz) return kScalarConditions;
  if (number == code::kExecz) return kScalarConditions + 2;
  // Zero in all words, not just the first; its neighbour is M0.
  if (number == code::kNull) return kScalarZeros;
  // The word behind SCC is no operand's and stays zero.
  if (number < code::kInt0 || number == code::kScc) return isa::scalar_source_code(operand, wave_size);
  if (isa::is_64_bit(operand.type)) {
    if (number <= code::kIntNegativeLast) return kScalarWideInteger + 2 * (number - code::kInt0);
    // Every 64-bit operand, of whatever type, reads the double (s_mov_b64 of 1.0, as LLVM emits it).
    if (is_float_constant(operand.code)) return kScalarDouble + 2 * (number - code::kFloatHalf);
    if (number >= code::kSharedBase && number <= code::kPrivateLimit)
      return kScalarAperture + 2 * (number - code::kSharedBase);
    return number & ~1u;
  }
  const bool is_half = operand.type == Type::f16 || operand.type == Type::pk_f16;
  if (is_half && is_float_constant(operand.code)) return kScalarHalf + (number - code::kFloatHalf);
  return number;
}

uint64_t scalar_value(const Wave& wave, const isa::Operand& operand, const isa::Instruction& instruction) {
  switch (operand.code) {
    case code::kLiteral:
      return isa::widen_literal(instruction.literal, operand.type);
    case code::kVccz:
      return wave.mask(code::kVccLo) == 0;
    case code::kExecz:
      return wave.exec() == 0;
    default:
      break;
  }
  const unsigned slot = scalar_slot(operand, wave.wave_size);
  return isa::is_64_bit(operand.type) ? wave.scalar64(slot) : wave.scalar[slot];
}

}  // namespace lockstep
