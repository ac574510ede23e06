// Dot products whose operands are used many times, as in the product of matrices: operands are taken apart
// once. The same bits as dot2_f32_f16 and dot2_f32_bf16 of dot.h in the default float mode.
#pragma once

#include "numeric/dot.h"

namespace lockstep::numeric {

// Operands of 16 lanes.
struct DotFactors {
  F32 significand;  // an integer
  I32 exponent;     // far below all others of a zero
  I32 negative;
};

// One side of the products has the bias of F32's exponents, the other one the place of the grid's unit.
enum class DotSide : uint8_t { biased, aligned };

template <class Operand>
LOCKSTEP_INLINE DotFactors dot_factors(Operand x, DotSide side) {
  constexpr float kUnit = __is_same(Operand, F16) ? 16.0f : 1024.0f;  // as in detail::dot_product
  const detail::DotOperand operand = detail::decode_dot_operand(x);
  const I32 exponent = operand.significand == 0 ? I32(detail::kNoExponent) : operand.exponent;
  const F32 significand = convert<F32>(operand.significand);
  const I32 negative = detail::dot_sign(x, Operand{});
  return side == DotSide::biased ? DotFactors{significand, exponent + 127, negative}
                                 : DotFactors{significand * kUnit, exponent, negative};
}

// Lane `lane` in all lanes.
LOCKSTEP_INLINE DotFactors in_all_lanes(const DotFactors& x, unsigned lane) {
  return {F32(x.significand[lane]), I32(x.exponent[lane]), I32(x.negative[lane])};
}

// Infinities and NaNs, which have no factors.
template <class Operand>
LOCKSTEP_INLINE I32 has_no_factors(Operand x) {
  return detail::dot_is_special(x);
}

namespace detail {

// A product as addend, before it is moved to the grid's unit.
struct AlignedProduct {
  I32 significand, exponent, negative;
};
LOCKSTEP_INLINE AlignedProduct product_of(const DotFactors& a, const DotFactors& b) {
  return {convert<I32>(a.significand * b.significand), a.exponent + b.exponent, a.negative ^ b.negative};
}
// Significands are no negative numbers: hosts shift such ones by any count.
LOCKSTEP_INLINE I32 units_of(I32 significand, I32 exponent, I32 largest) {
  const U32 drop = bits_as<U32>(largest - exponent);
  return bits_as<I32>(drop < 32u ? bits_as<U32>(significand) >> drop : U32(0));
}

}  // namespace detail

// a0 * b0 + a1 * b1 + c, the `a` biased, the `b` aligned. Sets lanes of `doubt` whose result is not good:
// special accumulators, and units that are none of F32's numbers.
LOCKSTEP_INLINE F32 dot2_f32(const DotFactors& a0, const DotFactors& a1, const DotFactors& b0,
                             const DotFactors& b1, F32 c, I32& doubt) {
  const detail::AlignedProduct p = detail::product_of(a0, b0), q = detail::product_of(a1, b1);
  // A denormal accumulator is below the unit of any other addend, or in doubt.
  const U32 bits = to_bits(c);
  const I32 field = bits_as<I32>(bits << 1 >> 24);
  const I32 significand = field != 0 ? bits_as<I32>(((bits & 0x7fffffu) | 0x800000u) << 1) : I32(0);
  const I32 largest = __builtin_elementwise_max(__builtin_elementwise_max(p.exponent, q.exponent), field);
  const I32 frame = bits_as<I32>(bits) >> 31;
  const I32 p_units = detail::units_of(p.significand, p.exponent, largest);
  const I32 q_units = detail::units_of(q.significand, q.exponent, largest);
  const I32 units = (p.significand != 0 ? p_units ^ p.negative ^ frame : I32(0)) +
                    (q.significand != 0 ? q_units ^ q.negative ^ frame : I32(0)) +
                    detail::units_of(significand, field, largest);
  const I32 is_zero = units == 0;
  const I32 extreme = bits_as<U32>(largest - 25) > 254u - 25u;
  if (__builtin_expect(any(mask_of(extreme)), false)) {
    const I32 something = (bits_as<I32>(bits << 9) | units) != 0;
    doubt |= (largest > 254) | (extreme & something);
  }
  const F32 size = convert<F32>(units) * bits_as<F32>((largest - 24) << 23);
  const I32 negates = frame & (~is_zero | (p.negative & q.negative));
  const F32 unsigned_zero = is_zero ? F32(0) : size;
  return bits_as<F32>(to_bits(unsigned_zero) ^ (bits_as<U32>(negates) & Layout<F32>::kSign));
}

}  // namespace lockstep::numeric
