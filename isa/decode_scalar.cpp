// SOP1, SOP2, SOPC, SOPK, SOPP and SMEM (guide 15.1, 15.2).
#include "isa/detail.h"

namespace lockstep::isa::detail {
namespace {

// An 8-bit source field.
DecodeError append_source(DecodeContext& context, const OperandSpec& spec, unsigned code) {
  if (code < code::kInt0) return append_scalar(context, spec, code);
  if (!is_source_code(code) || code == code::kLdsDirect) return refuse_source(context, spec, code);
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

// An operand that is not taken as it is.
[[gnu::noinline, clang::preserve_most]] DecodeError append_other(DecodeContext& context,
                                                                 const OperandSpec& spec,
                                                                 const PlacedCodes& codes) {
  const unsigned code = codes[static_cast<size_t>(spec.place)];
  if (spec.role == Role::simm) {
    const bool is_short = context.out.row->encoding == Encoding::sop1;
    append_immediate(context, spec, bits(context.words[0], 0, is_short ? 8 : 16));
    return DecodeError::none;
  }
  switch (spec.field) {
    case Field::sdst7:
      return append_scalar(context, spec, code);
    case Field::sgpr:
      if (is_immediate_code(code)) return refuse_operand(context, spec, code, "must be a register");
      return append_source(context, spec, code);
    default:
      return append_source(context, spec, code);
  }
}

}  // namespace

// SOP1, SOP2, SOPC and SOPK share one layout: SDST [22:16], SSRC1 [15:8], SSRC0 [7:0], SIMM16 [15:0].
DecodeError decode_sop(DecodeContext& context, const Row& row) {
  const uint32_t word = context.words[0];
  PlacedCodes codes = kNoCodes;
  at(codes, Place::src0) = static_cast<uint16_t>(bits(word, 0, 8));
  at(codes, Place::src1) = static_cast<uint16_t>(bits(word, 8, 8));
  at(codes, Place::scalar_dst) = static_cast<uint16_t>(bits(word, 16, 7));
  return append_all(context, row, codes,
                    [&](const OperandSpec& spec) { return append_other(context, spec, codes); });
}

DecodeError decode_sopp(DecodeContext& context, const Row& row) {
  const uint32_t simm16 = bits(context.words[0], 0, 16);
  if (row.operands.empty())
    return simm16 ? refuse(context, "SIMM16", simm16, kMustBeZero) : DecodeError::none;
  append_immediate(context, row.operands[0], simm16);
  return DecodeError::none;
}

DecodeError decode_smem(DecodeContext& context, const Row& row) {
  const uint32_t low = context.words[0];
  const uint32_t high = context.words[1];
  const unsigned sdata = bits(low, 6, 7);
  for (const OperandSpec& spec : row.operands) {
    DecodeError error = DecodeError::none;
    switch (spec.role) {
      case Role::dst:
        if (sdata >= code::kM0)
          return refuse_operand(context, spec, sdata, "may not be loaded from memory (guide 8.1)");
        // A group that leaves the SGPRs or the trap temporaries is out of range: it is loaded, and none of it
        // written (guide 8.4.1).
        if (unsigned code = sdata; spec.words > 4 && !align_scalar(code, spec.words))
          append(context, spec, code::kNull);
        else
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
  if (context.out.dlc && !(row.flags & kLoad)) return refuse(context, "DLC", 1, kMustBeZero);
  if (context.out.glc && !(row.flags & kLoad)) return refuse(context, "GLC", 1, kMustBeZero);
  context.out.offset = sign_extend(bits(high, 0, 21), 21);
  return DecodeError::none;
}

}  // namespace lockstep::isa::detail
