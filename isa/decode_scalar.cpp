// SOP1, SOP2, SOPC, SOPK, SOPP and SMEM (guide 15.1, 15.2).
#include "isa/detail.h"

namespace lockstep::isa::detail {
namespace {

// An 8-bit source field.
DecodeError append_source(DecodeContext& context, const OperandSpec& spec, unsigned code) {
  if (code < code::kInt0) return append_scalar(context, spec, code);
  if (!is_source_code(code) || code == code::kLdsDirect) return DecodeError::illegal_operand;
  Operand& operand = append(context, spec, code);
  if (code == code::kLiteral) {
    if (!take_literal(context, 1)) return DecodeError::truncated;
    operand.value = context.out.literal;
  }
  return DecodeError::none;
}

void append_immediate(DecodeContext& context, const OperandSpec& spec, uint32_t simm16) {
  Operand& operand = append(context, spec, 0);
  const bool is_signed = spec.type == Type::i16 || spec.type == Type::label;
  operand.value = is_signed ? int64_t{sign_extend(simm16, 16)} : int64_t{simm16};
}

// SOP1, SOP2, SOPC and SOPK share one layout: SDST [22:16], SSRC1 [15:8], SSRC0 [7:0], SIMM16 [15:0].
DecodeError decode_sop(DecodeContext& context, Encoding encoding, unsigned number) {
  const Row* row = find_row(encoding, number);
  if (!row) return DecodeError::unknown_opcode;
  begin(context, *row, 1);
  const uint32_t word = context.words[0];
  for (const OperandSpec& spec : row->operands) {
    DecodeError error = DecodeError::none;
    switch (spec.field) {
      case Field::sdst7:
        error = append_scalar(context, spec, bits(word, 16, 7));
        break;
      case Field::sgpr:
        if (is_immediate_code(bits(word, 0, 8))) return DecodeError::illegal_operand;
        error = append_source(context, spec, bits(word, 0, 8));
        break;
      case Field::ssrc8:
        error = append_source(context, spec, bits(word, spec.role == Role::src1 ? 8 : 0, 8));
        break;
      case Field::imm:
        if (spec.role == Role::simm) {
          append_immediate(context, spec, encoding == Encoding::sop1 ? bits(word, 0, 8) : bits(word, 0, 16));
        } else {
          error = append_source(context, spec, code::kLiteral);
        }
        break;
      default:
        break;
    }
    if (error != DecodeError::none) return error;
  }
  return DecodeError::none;
}

}  // namespace

DecodeError decode_sop2(DecodeContext& context) {
  return decode_sop(context, Encoding::sop2, bits(context.words[0], 23, 7));
}

DecodeError decode_sopk(DecodeContext& context) {
  return decode_sop(context, Encoding::sopk, bits(context.words[0], 23, 5));
}

DecodeError decode_sop1(DecodeContext& context) {
  return decode_sop(context, Encoding::sop1, bits(context.words[0], 8, 8));
}

DecodeError decode_sopc(DecodeContext& context) {
  return decode_sop(context, Encoding::sopc, bits(context.words[0], 16, 7));
}

DecodeError decode_sopp(DecodeContext& context) {
  const DecodeError error = decode_sop(context, Encoding::sopp, bits(context.words[0], 16, 7));
  if (error != DecodeError::none) return error;
  const bool unused_simm = context.out.operand_count == 0 && bits(context.words[0], 0, 16);
  return unused_simm ? DecodeError::reserved_field : DecodeError::none;
}

DecodeError decode_smem(DecodeContext& context) {
  const uint32_t low = context.words[0];
  const Row* row = find_row(Encoding::smem, bits(low, 18, 8));
  if (!row) return DecodeError::unknown_opcode;
  if (!context.words.has(1)) return DecodeError::truncated;
  begin(context, *row, 2);
  const uint32_t high = context.words[1];
  const unsigned sdata = bits(low, 6, 7);
  for (const OperandSpec& spec : row->operands) {
    DecodeError error = DecodeError::none;
    switch (spec.role) {
      case Role::dst:
        if (sdata >= code::kM0) return DecodeError::illegal_operand;  // guide 8.1
        error = append_scalar(context, spec, sdata);
        break;
      case Role::saddr:
      case Role::resource:
        error = append_scalar(context, spec, 2 * bits(low, 0, 6));
        break;
      case Role::soffset:
        append(context, spec, bits(high, 25, 7));
        break;
      default:
        append(context, spec, 0).value = sdata;
        break;
    }
    if (error != DecodeError::none) return error;
  }
  context.out.dlc = bits(low, 13, 1);
  context.out.glc = bits(low, 14, 1);
  if ((context.out.dlc || context.out.glc) && !(row->flags & kLoad)) return DecodeError::reserved_field;
  context.out.offset = sign_extend(bits(high, 0, 21), 21);
  return DecodeError::none;
}

}  // namespace lockstep::isa::detail
