// Dot products of the vector ALU.
//
// The float forms are one sum of three addends on a common grid, as measured on gfx1151 for V_DOT2_F32_F16
// and _BF16: products are exact; the grid unit is 2^(E - 24), with E the largest sum of operand exponents (or
// the exponent of the accumulator); what lies below the unit is dropped; an addend whose sign opposes the
// accumulator's is negated by inverting its bits, so it weighs one unit more. Assumed, not measured: the sum
// is rounded to nearest even whatever MODE.round says; a zero addend neither raises E nor weighs a unit; a
// zero accumulator gives the frame by its sign bit; a denormal accumulator or result obeys MODE; NaNs win in
// the order src0 low, src0 high, src1 low, src1 high, src2.
#pragma once

#include "numeric/convert.h"
#include "numeric/format.h"
#include "numeric/host_masks.h"

namespace lockstep::numeric {

namespace detail {

// The exact product of two operands of a dot product: significand * 2^(exponent - 24), at most 26 bits wide.
struct DotProduct {
  I32 significand;
  I32 exponent;
  I32 negative;
};

struct DotOperand {
  I32 significand;
  I32 exponent;
};

// 11 bits, with the exponent held at its floor of -14 for denormals.
LOCKSTEP_INLINE DotOperand decode_dot_operand(F16 x) {
  const I32 size = convert<I32>(to_bits(x) & Layout<F16>::kMagnitude);
  const I32 field = size >> 10;
  const I32 normal = field != 0;
  return {(size & 0x3ff) | (normal & 0x400), field - 15 + (normal + 1)};
}
// 8 bits; denormal operands count as zero (measured).
LOCKSTEP_INLINE DotOperand decode_dot_operand(U16 x) {
  const I32 size = convert<I32>(x & 0x7fff);
  const I32 field = size >> 7;
  const I32 normal = field != 0;
  return {((size & 0x7f) | 0x80) & normal, field - 127};
}
LOCKSTEP_INLINE I32 dot_sign(F16 a, F16 b) {
  return convert<I32>(bits_as<I16>(to_bits(a) ^ to_bits(b))) < 0;
}
LOCKSTEP_INLINE I32 dot_sign(U16 a, U16 b) {
  return convert<I32>(bits_as<I16>(a ^ b)) < 0;
}
LOCKSTEP_INLINE F32 dot_value(F16 x) {
  return convert<F32>(x);
}
LOCKSTEP_INLINE F32 dot_value(U16 x) {
  const U32 bits = convert<U32>(x) << 16;
  return bits_as<F32>((bits & Layout<F32>::kInfinity) == 0 ? bits & Layout<F32>::kSign : bits);
}

template <class Operand>
LOCKSTEP_INLINE DotProduct dot_product(Operand a, Operand b) {
  // Both formats come to 24 fraction bits: 20 of two halves, 14 of two brain floats.
  constexpr int kAlign = __is_same(Operand, F16) ? 4 : 10;
  const DotOperand x = decode_dot_operand(a);
  const DotOperand y = decode_dot_operand(b);
  return {(x.significand * y.significand) << kAlign, x.exponent + y.exponent, dot_sign(a, b)};
}

// Below every exponent that occurs.
inline constexpr int kNoExponent = -1000;

LOCKSTEP_INLINE I32 dot_exponent(DotProduct x) {
  return x.significand == 0 ? I32(kNoExponent) : x.exponent;
}

// An addend in grid units with the frame's sign taken out.
LOCKSTEP_INLINE I32 in_frame(DotProduct x, I32 largest, I32 frame_negative) {
  // A zero may have the larger exponent: its difference wraps, and any shift will do.
  const U32 drop = __builtin_elementwise_min(bits_as<U32>(largest - x.exponent), U32(31));
  const I32 units = x.significand >> bits_as<I32>(drop);
  const I32 opposes = (x.negative ^ frame_negative) & (x.significand != 0);
  return units ^ opposes;  // ~n is -(n + 1)
}

// The sum of three addends, (frame ? -units : units) * 2^(exponent - 24); 28 bits of units at most.
struct DotSum {
  I32 units;
  I32 exponent;
};
LOCKSTEP_INLINE DotSum dot_sum(DotProduct p, DotProduct q, DotProduct accumulator) {
  const I32 largest = __builtin_elementwise_max(__builtin_elementwise_max(dot_exponent(p), dot_exponent(q)),
                                                dot_exponent(accumulator));
  const I32 frame = accumulator.negative;
  const I32 units =
      in_frame(p, largest, frame) + in_frame(q, largest, frame) + in_frame(accumulator, largest, frame);
  return {units, units == 0 ? I32(0) : largest};
}

LOCKSTEP_INLINE DotProduct dot_accumulator(F32 c) {
  const I32 field = magnitude(c) >> 23;
  const I32 normal = field != 0;
  const I32 significand = bits_as<I32>(to_bits(c) & 0x7fffff) | (normal & 0x800000);
  return {significand << 1, field - 127 + (normal + 1), negative_lanes(c)};
}

// Whether a result is negative before it is rounded. A sum of zero is so only if all addends are, which is
// what -0 + -0 + -0 means.
LOCKSTEP_INLINE I32 dot_negates(DotSum sum, DotProduct p, DotProduct q, DotProduct accumulator) {
  return accumulator.negative & ((sum.units != 0) | (p.negative & q.negative));
}

// Exact.
LOCKSTEP_INLINE F64 dot_in_f64(DotSum sum, I32 negates) {
  const F64 unit = bits_as<F64>(convert<I64>(sum.exponent - 24 + 1023) << 52);
  const F64 size = convert<F64>(sum.units) * unit;
  return bits_as<F64>(to_bits(size) ^ (bits_as<U64>(convert<I64>(negates)) & Layout<F64>::kSign));
}

// Rounded to nearest even, once: units to a float, whose scaling is exact unless the result may be denormal
// or the unit is none of F32's numbers.
LOCKSTEP_INLINE F32 dot_in_f32(DotSum sum, I32 negates) {
  const I32 out_of_range = (sum.exponent < -102) | (sum.exponent > 127);
  if (__builtin_expect(any(mask_of(out_of_range)), false)) return convert<F32>(dot_in_f64(sum, negates));
  const F32 size = convert<F32>(sum.units) * bits_as<F32>((sum.exponent + (127 - 24)) << 23);
  return bits_as<F32>(to_bits(size) ^ (bits_as<U32>(negates) & Layout<F32>::kSign));
}

// Infinities and NaNs: plain IEEE, with the first NaN in operand order.
template <class Operand, class Mode>
LOCKSTEP_INLINE F32 dot_special(Operand a_low, Operand a_high, Operand b_low, Operand b_high, F32 c,
                                Mode mode) {
  const F32 a0 = dot_value(a_low);
  const F32 a1 = dot_value(a_high);
  const F32 b0 = dot_value(b_low);
  const F32 b1 = dot_value(b_high);
  // In F64 no product or sum of finite operands overflows.
  const F64 sum = convert<F64>(a0) * convert<F64>(b0) + convert<F64>(a1) * convert<F64>(b1) + convert<F64>(c);
  const F32 nan = nan_lanes(a0) | nan_lanes(a1) ? first_nan(a0, a1, mode) : first_nan(b0, b1, c, mode);
  const F32 infinity = convert<F32>(sum);
  return infinity != infinity ? nan : infinity;
}

LOCKSTEP_INLINE I32 dot_is_special(F16 x) {
  return convert<I32>(magnitude(x) >= I16(Layout<F16>::kInfinity));
}
LOCKSTEP_INLINE I32 dot_is_special(U16 x) {
  return convert<I32>(bits_as<I16>(x & 0x7fff) >= I16(0x7f80));
}

template <class Operand>
LOCKSTEP_INLINE Mask dot_specials(Operand a_low, Operand a_high, Operand b_low, Operand b_high, F32 c) {
  return mask_of(dot_is_special(a_low) | dot_is_special(a_high) | dot_is_special(b_low) |
                 dot_is_special(b_high) | (magnitude(c) >= I32(Layout<F32>::kInfinity)));
}

#ifdef __AVX512F__
// An addend, and the exponent that it brings to the sum.
struct HostAddend {
  F32 value, exponent;

  I32 is_zero() const { return value == 0.0f; }
};

LOCKSTEP_INLINE F32 at_least(F32 x, float least) {
  return x > least ? x : F32(least);
}
LOCKSTEP_INLINE HostAddend dot_product_by_host(F16 a, F16 b) {
  const F32 x = convert<F32>(a), y = convert<F32>(b), product = x * y;
  constexpr float kLeast = -14.0f;
  const F32 exponent = at_least(exponent_by_host(x), kLeast) + at_least(exponent_by_host(y), kLeast);
  return {product, product == 0.0f ? F32(kNoExponent) : exponent};
}
LOCKSTEP_INLINE HostAddend dot_accumulator_by_host(F32 c) {
  return {c, c == 0.0f ? F32(kNoExponent) : at_least(exponent_by_host(c), -126.0f)};
}

LOCKSTEP_INLINE I32 in_frame_by_host(HostAddend x, F32 units_of_one, I32 frame_negative) {
  const F32 size = bits_as<F32>(to_bits(x.value) & Layout<F32>::kMagnitude);
  const I32 opposes = (negative_lanes(x.value) ^ frame_negative) & ~x.is_zero();
  return truncated_by_host(scaled_by_host(size, units_of_one)) ^ opposes;
}

// The same sum, with the host's exponents: floats hold products of halves, and what is shifted below the
// unit.
LOCKSTEP_INLINE F32 dot2_by_host(F16 a_low, F16 a_high, F16 b_low, F16 b_high, F32 c) {
  const HostAddend p = dot_product_by_host(a_low, b_low), q = dot_product_by_host(a_high, b_high),
                   accumulator = dot_accumulator_by_host(c);
  const F32 larger = p.exponent > q.exponent ? p.exponent : q.exponent;
  const F32 largest = larger > accumulator.exponent ? larger : accumulator.exponent;
  const F32 units_of_one = 24.0f - largest;
  const I32 frame = negative_lanes(c);
  const I32 units = in_frame_by_host(p, units_of_one, frame) + in_frame_by_host(q, units_of_one, frame) +
                    in_frame_by_host(accumulator, units_of_one, frame);
  const I32 none = units == 0;
  const I32 negates = frame & (~none | (negative_lanes(p.value) & negative_lanes(q.value)));
  return dot_in_f32({units, ~none & truncated_by_host(largest)}, negates);
}
#endif

// Of finite numbers.
template <class Operand>
LOCKSTEP_INLINE F32 finite_dot2(Operand a_low, Operand a_high, Operand b_low, Operand b_high, F32 c) {
#ifdef __AVX512F__
  if constexpr (__is_same(Operand, F16))
    if (host_has_masks()) return dot2_by_host(a_low, a_high, b_low, b_high, c);
#endif
  const DotProduct p = dot_product(a_low, b_low);
  const DotProduct q = dot_product(a_high, b_high);
  const DotProduct accumulator = dot_accumulator(c);
  const DotSum sum = dot_sum(p, q, accumulator);
  return dot_in_f32(sum, dot_negates(sum, p, q, accumulator));
}

template <class Operand, class Mode>
LOCKSTEP_INLINE F32 dot2(Operand a_low, Operand a_high, Operand b_low, Operand b_high, F32 c, Mode mode) {
  c = flush_input(c, mode);
  const F32 result = flush_output(finite_dot2(a_low, a_high, b_low, b_high, c), mode);
  const Mask special = dot_specials(a_low, a_high, b_low, b_high, c);
  if (__builtin_expect(!any(special), true)) return result;
  return select(special, dot_special(a_low, a_high, b_low, b_high, c, mode), result);
}

template <class Operand>
LOCKSTEP_INLINE F64 exact_dot(Operand a_low, Operand a_high, Operand b_low, Operand b_high, F32 c) {
  const DotProduct p = dot_product(a_low, b_low);
  const DotProduct q = dot_product(a_high, b_high);
  const DotProduct accumulator = dot_accumulator(c);
  const DotSum sum = dot_sum(p, q, accumulator);
  return dot_in_f64(sum, dot_negates(sum, p, q, accumulator));
}

// Rounded to odd, so that one more rounding to half is innocuous; toward zero for what stays below F32's
// normals.
LOCKSTEP_INLINE F32 narrow_to_odd(F64 x) {
  constexpr uint64_t kDropped = (uint64_t{1} << 29) - 1;
  const U64 bits = to_bits(x);
  const U64 odd = (bits & ~kDropped) | ((bits & kDropped) != 0 ? U64(kDropped + 1) : U64(0));
  return convert<F32>(bits_as<F64>(odd));
}

}  // namespace detail

// src0 = {a_low, a_high}, src1 = {b_low, b_high}, src2 = c.
template <class Mode>
LOCKSTEP_INLINE F32 dot2_f32_f16(F16 a_low, F16 a_high, F16 b_low, F16 b_high, F32 c, Mode mode) {
  return detail::dot2(a_low, a_high, b_low, b_high, c, mode);
}
template <class Mode>
LOCKSTEP_INLINE F32 dot2_f32_bf16(U16 a_low, U16 a_high, U16 b_low, U16 b_high, F32 c, Mode mode) {
  return detail::dot2(a_low, a_high, b_low, b_high, c, mode);
}

// The 16-bit forms: the same sum, rounded once. Assumptions: to nearest even for halves; toward zero for
// brain floats, as measured on gfx1200.
template <class Mode>
LOCKSTEP_INLINE F16 dot2_f16_f16(F16 a_low, F16 a_high, F16 b_low, F16 b_high, F16 c, Mode mode) {
  const F32 wide = convert<F32>(flush_input(c, mode));
  const F64 sum = detail::exact_dot(a_low, a_high, b_low, b_high, wide);
  const F16 result = flush_output(convert<F16>(detail::narrow_to_odd(sum)), mode);
  const Mask special = detail::dot_specials(a_low, a_high, b_low, b_high, wide);
  if (__builtin_expect(!any(special), true)) {
    if (!mode.fp16_overflow_clamps()) return result;
    return bits_as<F16>(infinite_lanes(result) ? to_bits(result) - 1 : to_bits(result));
  }
  return select(special, convert<F16>(detail::dot_special(a_low, a_high, b_low, b_high, wide, mode)), result);
}
template <class Mode>
LOCKSTEP_INLINE U16 dot2_bf16_bf16(U16 a_low, U16 a_high, U16 b_low, U16 b_high, U16 c, Mode mode) {
  const F32 wide = flush_input(bf16_to_f32(c), mode);
  const F64 sum = detail::exact_dot(a_low, a_high, b_low, b_high, wide);
  const F32 nearest = convert<F32>(sum);
  const Mask too_large = mask_of(convert<F64>(abs(nearest)) > abs(sum));
  const U32 truncated = select(too_large, to_bits(nearest) - 1, to_bits(nearest));
  const F32 result = flush_output(bits_as<F32>(truncated), mode);
  const Mask special = detail::dot_specials(a_low, a_high, b_low, b_high, wide);
  if (__builtin_expect(!any(special), true)) return f32_to_bf16_rtz(result);
  return f32_to_bf16_rtz(
      select(special, detail::dot_special(a_low, a_high, b_low, b_high, wide, mode), result));
}

namespace detail {

// Field `index` of `width` bits, sign- or zero-extended.
LOCKSTEP_INLINE I32 dot_field(U32 x, unsigned width, unsigned index, bool is_signed) {
  const U32 at_top = x << (32 - width * (index + 1));
  return is_signed ? bits_as<I32>(at_top) >> (32 - width) : bits_as<I32>(at_top >> (32 - width));
}
LOCKSTEP_INLINE I32 dot_fields(U32 a, U32 b, unsigned width, bool a_signed, bool b_signed) {
  I32 sum = I32(0);
#pragma clang loop unroll(full)
  for (unsigned i = 0; i < 32 / width; ++i) {
    sum += dot_field(a, width, i, a_signed) * dot_field(b, width, i, b_signed);
  }
  return sum;
}

}  // namespace detail

// The sum of products fits 32 bits; CLAMP saturates its exact sum with c.
LOCKSTEP_INLINE I32 dot4_i32_iu8(U32 a, U32 b, I32 c, bool a_signed, bool b_signed, bool clamp) {
  const I32 products = detail::dot_fields(a, b, 8, a_signed, b_signed);
  return clamp ? __builtin_elementwise_add_sat(products, c)
               : bits_as<I32>(bits_as<U32>(products) + bits_as<U32>(c));
}
LOCKSTEP_INLINE U32 dot4_u32_u8(U32 a, U32 b, U32 c, bool clamp) {
  const U32 products = bits_as<U32>(detail::dot_fields(a, b, 8, false, false));
  return clamp ? __builtin_elementwise_add_sat(products, c) : products + c;
}
LOCKSTEP_INLINE I32 dot8_i32_iu4(U32 a, U32 b, I32 c, bool a_signed, bool b_signed, bool clamp) {
  const I32 products = detail::dot_fields(a, b, 4, a_signed, b_signed);
  return clamp ? __builtin_elementwise_add_sat(products, c)
               : bits_as<I32>(bits_as<U32>(products) + bits_as<U32>(c));
}
LOCKSTEP_INLINE U32 dot8_u32_u4(U32 a, U32 b, U32 c, bool clamp) {
  const U32 products = bits_as<U32>(detail::dot_fields(a, b, 4, false, false));
  return clamp ? __builtin_elementwise_add_sat(products, c) : products + c;
}

}  // namespace lockstep::numeric
