// Minimum, maximum, median of floats (guide 16.7, V_MIN_F32 and V_MED3_F32): -0 < +0; a number beats a quiet
// NaN; with MODE.IEEE a signalling NaN beats all and is quieted. Only input denormals are flushed.
#pragma once

#include "numeric/format.h"
#include "numeric/host_masks.h"

namespace lockstep::numeric {

namespace detail {

// The lesser of two numbers. The minimum of older hosts is its second operand if both are equal, which differ
// at most in the sign of a zero: the union of both orders keeps it. Of F64, whose halves come as words, a
// comparison more is cheaper.
LOCKSTEP_INLINE F32 lesser(F32 a, F32 b) {
#ifdef __AVX512F__
  if (host_has_masks()) return ranged_by_host<kLesserByHost>(a, b);
#endif
  return bits_as<F32>(to_bits(a < b ? a : b) | to_bits(b < a ? b : a));
}
LOCKSTEP_INLINE F64 lesser(F64 a, F64 b) {
#ifdef __AVX512F__
  if (host_has_masks()) return ranged_by_host<kLesserByHost>(a, b);
#endif
  return a < b ? a : a == b ? bits_as<F64>(to_bits(a) | to_bits(b)) : b;
}
LOCKSTEP_INLINE F32 greater(F32 a, F32 b) {
#ifdef __AVX512F__
  if (host_has_masks()) return ranged_by_host<kGreaterByHost>(a, b);
#endif
  return bits_as<F32>(to_bits(a > b ? a : b) & to_bits(b > a ? b : a));
}
LOCKSTEP_INLINE F64 greater(F64 a, F64 b) {
#ifdef __AVX512F__
  if (host_has_masks()) return ranged_by_host<kGreaterByHost>(a, b);
#endif
  return a > b ? a : a == b ? bits_as<F64>(to_bits(a) & to_bits(b)) : b;
}
LOCKSTEP_INLINE I64 unordered(F64 a, F64 b) {
  return (a != a) | (b != b);
}
LOCKSTEP_INLINE I32 unordered(F32 a, F32 b) {
  return (a != a) | (b != b);
}

// Halves are ordered as sign-magnitude integers.
LOCKSTEP_INLINE I16 order(F16 x) {
  const I16 bits = bits_as<I16>(x);
  return bits ^ ((bits >> 15) & 0x7fff);
}
LOCKSTEP_INLINE F16 lesser(F16 a, F16 b) {
  return order(a) < order(b) ? a : b;
}
LOCKSTEP_INLINE F16 greater(F16 a, F16 b) {
  return order(a) > order(b) ? a : b;
}
LOCKSTEP_INLINE I16 unordered(F16 a, F16 b) {
  return nan_lanes(a) | nan_lanes(b);
}

// As numbers: zeros of both signs are equal. Not for NaNs.
LOCKSTEP_INLINE I32 not_less(F32 a, F32 b) {
  return a >= b;
}
LOCKSTEP_INLINE I64 not_less(F64 a, F64 b) {
  return a >= b;
}
LOCKSTEP_INLINE I16 not_less(F16 a, F16 b) {
  // As two's complement numbers. LLVM turns a test of halves for zero into a float compare, which hosts
  // without half arithmetic do lane by lane.
  const I16 a_sign = bits_as<I16>(a) >> 15, b_sign = bits_as<I16>(b) >> 15;
  return (magnitude(a) ^ a_sign) - a_sign >= (magnitude(b) ^ b_sign) - b_sign;
}

// Whether lesser() and greater() are what MODE.IEEE asks for of NaNs, too.
template <class Float, class Mode>
LOCKSTEP_INLINE bool is_as_ieee(Mode mode) {
  return sizeof(Float) != sizeof(F16) && host_has_masks() && mode.ieee();
}

// `picked` is what the operation gives for two numbers.
template <class Float, class Mode>
LOCKSTEP_INLINE Float number_or_nan(Float a, Float b, Float picked, Mode mode) {
  if constexpr (!selects_nans<Mode>)
    if (!recompute_now(unordered(a, b), mode)) return picked;
  Float result = nan_lanes(b) ? a : nan_lanes(a) ? b : picked;
  if (mode.ieee()) {
    result = signalling_lanes(b) ? quiet(b, mode) : result;
    result = signalling_lanes(a) ? quiet(a, mode) : result;
  }
  return result;
}

}  // namespace detail

template <class Float, class Mode>
LOCKSTEP_INLINE Float min(Float a, Float b, Mode mode) {
  a = flush_input(a, mode);
  b = flush_input(b, mode);
  const Float lesser = detail::lesser(a, b);
  return detail::is_as_ieee<Float>(mode) ? lesser : detail::number_or_nan(a, b, lesser, mode);
}
template <class Float, class Mode>
LOCKSTEP_INLINE Float max(Float a, Float b, Mode mode) {
  a = flush_input(a, mode);
  b = flush_input(b, mode);
  const Float greater = detail::greater(a, b);
  return detail::is_as_ieee<Float>(mode) ? greater : detail::number_or_nan(a, b, greater, mode);
}
template <class Float, class Mode>
LOCKSTEP_INLINE Float min3(Float a, Float b, Float c, Mode mode) {
  return min(min(a, b, mode), c, mode);
}
template <class Float, class Mode>
LOCKSTEP_INLINE Float max3(Float a, Float b, Float c, Mode mode) {
  return max(max(a, b, mode), c, mode);
}
// Minimum of the first two, then maximum with the third.
template <class Float, class Mode>
LOCKSTEP_INLINE Float minmax(Float a, Float b, Float c, Mode mode) {
  return max(min(a, b, mode), c, mode);
}
template <class Float, class Mode>
LOCKSTEP_INLINE Float maxmin(Float a, Float b, Float c, Mode mode) {
  return min(max(a, b, mode), c, mode);
}

// With a NaN among the operands this is min3. Whether an operand is the largest is asked of numbers: zeros of
// both signs count as equal.
template <class Float, class Mode>
LOCKSTEP_INLINE Float med3(Float a, Float b, Float c, Mode mode) {
  a = flush_input(a, mode);
  b = flush_input(b, mode);
  c = flush_input(c, mode);
  const Float of_ab = detail::greater(a, b), of_ac = detail::greater(a, c), of_bc = detail::greater(b, c);
  const Float median = detail::not_less(a, of_bc) ? of_bc : detail::not_less(b, of_ac) ? of_ac : of_ab;
  const IntOf<Float> nan = detail::unordered(a, b) | detail::unordered(c, c);
  if constexpr (!selects_nans<Mode>)
    if (!recompute_now(nan, mode)) return median;
  return nan ? min3(a, b, c, mode) : median;
}

}  // namespace lockstep::numeric
