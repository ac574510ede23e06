// Reciprocal, roots, exponential, logarithm, sine and cosine. The F32 forms give the bits of gfx11 (see
// transcendental_reference.h for the rules and their provenance); they look at MODE only for the quieting of
// NaNs, sine and cosine for denormals too. The F16 forms are the F32 ones, rounded once. The F64 forms round
// correctly (rsq: error below 0.51 units in the last place), where the hardware only promises 2^29 of them:
// their bits are an assumption.
#pragma once

#include "numeric/format.h"
#include "numeric/logarithm.h"
#include "numeric/sine_cosine.h"
#include "numeric/transcendental_f32.h"

namespace lockstep::numeric {

namespace detail {

template <class Mode>
LOCKSTEP_INLINE F32 quieted(F32 x, F32 result, Mode mode) {
  return mode.ieee() ? bits_as<F32>(nan_lanes(x) ? to_bits(x) | Layout<F32>::kQuiet : to_bits(result))
                     : result;
}

template <class Mode>
LOCKSTEP_INLINE uint32_t quiet_bit(Mode mode) {
  return mode.ieee() ? Layout<F32>::kQuiet : 0;
}

// `result` is in F32 and rounds to half innocuously. FP16_OVFL turns infinities of finite sources into the
// largest half.
template <class Mode>
LOCKSTEP_INLINE F16 half_result(F16 x, F32 result, bool can_overflow, Mode mode) {
  F16 half = flush_output(convert<F16>(result), mode);
  if (can_overflow && mode.fp16_overflow_clamps()) {
    const I16 overflow = infinite_lanes(half) & (magnitude(x) < I16(Layout<F16>::kInfinity));
    half = bits_as<F16>(overflow ? to_bits(half) - 1 : to_bits(half));
  }
  return nan_lanes(x) ? quiet(x, mode) : half;
}

}  // namespace detail

template <class Mode>
LOCKSTEP_INLINE F32 rcp(F32 x, Mode mode) {
  return rcp_f32(x, detail::quiet_bit(mode));
}
// Differs from rcp only in the exceptions that it raises.
template <class Mode>
LOCKSTEP_INLINE F32 rcp_iflag(F32 x, Mode mode) {
  return rcp(x, mode);
}
template <class Mode>
LOCKSTEP_INLINE F32 rsq(F32 x, Mode mode) {
  return rsq_f32(x, detail::quiet_bit(mode));
}
template <class Mode>
LOCKSTEP_INLINE F32 sqrt(F32 x, Mode mode) {
  return sqrt_f32(x, detail::quiet_bit(mode));
}
template <class Mode>
LOCKSTEP_INLINE F32 exp2(F32 x, Mode mode) {
  return detail::quieted(x, exp2_f32(x), mode);
}
template <class Mode>
LOCKSTEP_INLINE F32 log2(F32 x, Mode mode) {
  return detail::quieted(x, log2_f32(x), mode);
}
// The argument counts turns: sin(0.25) is 1.
template <class Mode>
LOCKSTEP_INLINE F32 sin(F32 x, Mode mode) {
  return detail::quieted(x, sin_f32(x, mode.denorm_in_f32(), mode.denorm_out_f32()), mode);
}
template <class Mode>
LOCKSTEP_INLINE F32 cos(F32 x, Mode mode) {
  return detail::quieted(x, cos_f32(x, mode.denorm_in_f32(), mode.denorm_out_f32()), mode);
}

// Of reciprocals and roots the host's floats round to the same halves as the card's.
template <class Mode>
LOCKSTEP_INLINE F16 rcp(F16 x, Mode mode) {
  x = flush_input(x, mode);
  return detail::half_result(x, 1.0f / convert<F32>(x), true, mode);
}
template <class Mode>
LOCKSTEP_INLINE F16 rsq(F16 x, Mode mode) {
  x = flush_input(x, mode);
  return detail::half_result(x, 1.0f / __builtin_elementwise_sqrt(convert<F32>(x)), true, mode);
}
template <class Mode>
LOCKSTEP_INLINE F16 sqrt(F16 x, Mode mode) {
  x = flush_input(x, mode);
  return detail::half_result(x, __builtin_elementwise_sqrt(convert<F32>(x)), false, mode);
}
// Not rounded twice: the F32 value is rounded to odd.
template <class Mode>
LOCKSTEP_INLINE F16 exp2(F16 x, Mode mode) {
  x = flush_input(x, mode);
  return detail::half_result(x, exp2_to_odd_f32(convert<F32>(x)), true, mode);
}
template <class Mode>
LOCKSTEP_INLINE F16 log2(F16 x, Mode mode) {
  x = flush_input(x, mode);
  return detail::half_result(x, log2_f32(convert<F32>(x)), true, mode);
}
template <class Mode>
LOCKSTEP_INLINE F16 sin(F16 x, Mode mode) {
  x = flush_input(x, mode);
  return detail::half_result(x, sin_f32(convert<F32>(x), true, true), false, mode);
}
template <class Mode>
LOCKSTEP_INLINE F16 cos(F16 x, Mode mode) {
  x = flush_input(x, mode);
  return detail::half_result(x, cos_f32(convert<F32>(x), true, true), false, mode);
}

namespace detail {

// NaN operands as always; what else is NaN is an invalid operation.
template <class Mode>
LOCKSTEP_INLINE F64 double_result(F64 x, F64 result, Mode mode) {
  const F64 flushed = flush_output(result, mode);
  return result != result ? first_nan(x, mode) : flushed;
}

}  // namespace detail

template <class Mode>
LOCKSTEP_INLINE F64 rcp(F64 x, Mode mode) {
  x = flush_input(x, mode);
  return detail::double_result(x, 1.0 / x, mode);
}
template <class Mode>
LOCKSTEP_INLINE F64 sqrt(F64 x, Mode mode) {
  x = flush_input(x, mode);
  return detail::double_result(x, __builtin_elementwise_sqrt(x), mode);
}
template <class Mode>
LOCKSTEP_INLINE F64 rsq(F64 x, Mode mode) {
  x = flush_input(x, mode);
  const F64 estimate = 1.0 / __builtin_elementwise_sqrt(x);
  // One Newton step with the exact residue 1 - x * estimate^2, where that is a number.
  const F64 root = x * estimate;
  const F64 root_error = __builtin_elementwise_fma(x, estimate, -root);
  const F64 residue = __builtin_elementwise_fma(-root, estimate, F64(1.0)) - root_error * estimate;
  const F64 improved = __builtin_elementwise_fma(0.5 * estimate, residue, estimate);
  return detail::double_result(x, improved == improved ? improved : estimate, mode);
}

}  // namespace lockstep::numeric
