#include "semantics/exceptions_rules.h"

namespace lockstep::semantics::exceptions {
namespace {

constexpr Rule of(Kind kind, const Format& format) {
  return {.kind = kind, .from = format, .to = format};
}
constexpr Rule packed(Kind kind) {
  return {.kind = kind, .from = kHalf, .to = kHalf, .packed = true};
}
constexpr Rule between(Kind kind, const Format& from, const Format& to) {
  return {.kind = kind, .from = from, .to = to};
}
constexpr Rule to_integer(const Format& from, uint8_t bits, bool is_signed) {
  return {.kind = Kind::to_integer, .from = from, .integer_bits = bits, .integer_signed = is_signed};
}
constexpr Rule from_integer(uint8_t bits, bool is_signed, const Format& to) {
  return {.kind = Kind::from_integer, .to = to, .integer_bits = bits, .integer_signed = is_signed};
}

}  // namespace

// Where the guide says nothing of an instruction, its table of exceptions (3.4.9) is taken to hold for
// whatever computes with floats. Not for these (open): v_div_scale, whose division is v_div_fixup's to
// report; cube maps; v_cvt_nearest, v_cvt_floor and the normalized conversions: LLVM 19 says of all these
// that they raise nothing. v_pack_b32_f16 and v_trig_preop_f64 move and look up bits. Stated by the guide:
// the matrix multiplications (7.9) and parameter interpolation (12.3) raise nothing, nor does the data share
// (13.3). Exact conversions of integers have nothing to raise.
Rule rule_of(isa::Opcode opcode) {
  using enum isa::Opcode;
  switch (opcode) {
#define LOCKSTEP_EVERY_FORMAT(kind, name) \
  case v_##name##_f16:                    \
    return of(Kind::kind, kHalf);         \
  case v_##name##_f32:                    \
    return of(Kind::kind, kSingle);       \
  case v_##name##_f64:                    \
    return of(Kind::kind, kDouble);
#define LOCKSTEP_HALF_AND_SINGLE(kind, name) \
  case v_##name##_f16:                       \
    return of(Kind::kind, kHalf);            \
  case v_##name##_f32:                       \
    return of(Kind::kind, kSingle);
#define LOCKSTEP_COMPARE(predicate)               \
  LOCKSTEP_EVERY_FORMAT(compare, cmp_##predicate) \
  LOCKSTEP_EVERY_FORMAT(compare, cmpx_##predicate)

    LOCKSTEP_EVERY_FORMAT(add, add)
    LOCKSTEP_HALF_AND_SINGLE(subtract, sub)
    LOCKSTEP_HALF_AND_SINGLE(subtract_reversed, subrev)
    LOCKSTEP_EVERY_FORMAT(multiply, mul)
    LOCKSTEP_EVERY_FORMAT(multiply_add, fma)
    LOCKSTEP_HALF_AND_SINGLE(multiply_add, fmac)
    LOCKSTEP_HALF_AND_SINGLE(multiply_add, fmamk)
    LOCKSTEP_HALF_AND_SINGLE(multiply_add, fmaak)
    LOCKSTEP_EVERY_FORMAT(scale, ldexp)
    LOCKSTEP_EVERY_FORMAT(fraction, fract)

    // Rounding to an integer in float format is exact by its own terms, as IEEE 754-2008 5.9 has it (open).
    LOCKSTEP_EVERY_FORMAT(operands, trunc)
    LOCKSTEP_EVERY_FORMAT(operands, ceil)
    LOCKSTEP_EVERY_FORMAT(operands, floor)
    LOCKSTEP_EVERY_FORMAT(operands, rndne)
    LOCKSTEP_EVERY_FORMAT(operands, frexp_mant)
    LOCKSTEP_EVERY_FORMAT(operands, min)
    LOCKSTEP_EVERY_FORMAT(operands, max)
    LOCKSTEP_HALF_AND_SINGLE(operands, min3)
    LOCKSTEP_HALF_AND_SINGLE(operands, max3)
    LOCKSTEP_HALF_AND_SINGLE(operands, med3)
    LOCKSTEP_HALF_AND_SINGLE(operands, minmax)
    LOCKSTEP_HALF_AND_SINGLE(operands, maxmin)
    case v_frexp_exp_i16_f16:
      return of(Kind::operands, kHalf);
    case v_frexp_exp_i32_f32:
      return of(Kind::operands, kSingle);
    case v_frexp_exp_i32_f64:
      return of(Kind::operands, kDouble);

      // The class tests are left out: the guide's remark on signalling stands at integer compares too, and
      // IEEE 754-2008 5.7.2 lets them signal nothing (open).
      LOCKSTEP_COMPARE(f)
      LOCKSTEP_COMPARE(lt)
      LOCKSTEP_COMPARE(eq)
      LOCKSTEP_COMPARE(le)
      LOCKSTEP_COMPARE(gt)
      LOCKSTEP_COMPARE(lg)
      LOCKSTEP_COMPARE(ge)
      LOCKSTEP_COMPARE(o)
      LOCKSTEP_COMPARE(u)
      LOCKSTEP_COMPARE(nge)
      LOCKSTEP_COMPARE(nlg)
      LOCKSTEP_COMPARE(ngt)
      LOCKSTEP_COMPARE(nle)
      LOCKSTEP_COMPARE(neq)
      LOCKSTEP_COMPARE(nlt)
      LOCKSTEP_COMPARE(t)

    case v_mul_dx9_zero_f32:
      return of(Kind::multiply_dx9, kSingle);
    case v_fma_dx9_zero_f32:
    case v_fmac_dx9_zero_f32:
      return of(Kind::multiply_add_dx9, kSingle);
    case v_mullit_f32:
      return of(Kind::light, kSingle);
    case v_fma_mix_f32:
      return between(Kind::mix, kSingle, kSingle);
    case v_fma_mixlo_f16:
    case v_fma_mixhi_f16:
      return between(Kind::mix, kSingle, kHalf);

    case v_pk_add_f16:
      return packed(Kind::add);
    case v_pk_mul_f16:
      return packed(Kind::multiply);
    case v_pk_fma_f16:
    case v_pk_fmac_f16:
      return packed(Kind::multiply_add);
    case v_pk_min_f16:
    case v_pk_max_f16:
      return packed(Kind::operands);

    case v_div_fmas_f32:
      return of(Kind::division_multiply_add, kSingle);
    case v_div_fmas_f64:
      return of(Kind::division_multiply_add, kDouble);
      LOCKSTEP_EVERY_FORMAT(division_fixup, div_fixup)

    case v_cvt_f32_f16:
      return between(Kind::convert, kHalf, kSingle);
    case v_cvt_f16_f32:
      return between(Kind::convert, kSingle, kHalf);
    case v_cvt_f64_f32:
      return between(Kind::convert, kSingle, kDouble);
    case v_cvt_f32_f64:
      return between(Kind::convert, kDouble, kSingle);
    case v_cvt_pk_rtz_f16_f32:
      return between(Kind::convert_toward_zero, kSingle, kHalf);

    case v_cvt_i32_f32:
      return to_integer(kSingle, 32, true);
    case v_cvt_u32_f32:
      return to_integer(kSingle, 32, false);
    case v_cvt_i32_f64:
      return to_integer(kDouble, 32, true);
    case v_cvt_u32_f64:
      return to_integer(kDouble, 32, false);
    case v_cvt_i16_f16:
      return to_integer(kHalf, 16, true);
    case v_cvt_u16_f16:
      return to_integer(kHalf, 16, false);
    case v_cvt_pk_i16_f32:
      return to_integer(kSingle, 16, true);
    case v_cvt_pk_u16_f32:
      return to_integer(kSingle, 16, false);
    case v_cvt_pk_u8_f32:
      return to_integer(kSingle, 8, false);
    case v_cvt_f32_i32:
      return from_integer(32, true, kSingle);
    case v_cvt_f32_u32:
      return from_integer(32, false, kSingle);
    case v_cvt_f16_i16:
      return from_integer(16, true, kHalf);
    case v_cvt_f16_u16:
      return from_integer(16, false, kHalf);

    case v_dot2_f32_f16:
    case v_dot2acc_f32_f16:
      return between(Kind::dot, kHalf, kSingle);
    case v_dot2_f32_bf16:
    case v_dual_dot2acc_f32_bf16:
      return between(Kind::dot, kBrain, kSingle);
    case v_dot2_f16_f16:
      return between(Kind::dot, kHalf, kHalf);
    case v_dot2_bf16_bf16:
      return between(Kind::dot, kBrain, kBrain);

      LOCKSTEP_EVERY_FORMAT(reciprocal, rcp)
    case v_rcp_iflag_f32:
      return of(Kind::reciprocal_for_integers, kSingle);
      LOCKSTEP_EVERY_FORMAT(square_root, sqrt)
      LOCKSTEP_EVERY_FORMAT(reciprocal_square_root, rsq)
      LOCKSTEP_HALF_AND_SINGLE(exponential, exp)
      LOCKSTEP_HALF_AND_SINGLE(logarithm, log)
      LOCKSTEP_HALF_AND_SINGLE(sine, sin)
      LOCKSTEP_HALF_AND_SINGLE(cosine, cos)

    default:
      return {};

#undef LOCKSTEP_COMPARE
#undef LOCKSTEP_EVERY_FORMAT
#undef LOCKSTEP_HALF_AND_SINGLE
  }
}

}  // namespace lockstep::semantics::exceptions
