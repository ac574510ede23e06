// Add, subtract, multiply, fused multiply-add, in every MODE. Included with it: min/max, rounding to integers
// and scaling, compares.
//
// The default mode and round-to-nearest are plain vector operations. Whatever these do not get right to the
// bit (NaN payloads, directed rounding, results that may have been rounded up to the smallest normal while
// denormals are flushed) is recomputed by the exact functions of exact.h, which are out of line.
//
// NaN rules (measured on gfx1100): an invalid operation gives the default NaN; otherwise the first NaN in
// operand order, quieted only if MODE.IEEE. For fma an invalid product beats a NaN addend: measured for F16,
// assumed for F32 and F64.
#pragma once

#include "numeric/compare.h"
#include "numeric/exact.h"
#include "numeric/format.h"
#include "numeric/min_max.h"
#include "numeric/round.h"

namespace lockstep::numeric {

namespace detail {

template <class Float, class Mode>
LOCKSTEP_INLINE bool rounds_to_nearest(Mode mode) {
  return Layout<Float>::round(mode) == Round::nearest_even;
}

// F16 is computed in F32: sums and products of two halves round innocuously there (24 >= 2 * 11 + 2).
LOCKSTEP_INLINE F32 host_sum(F32 a, F32 b) {
  return a + b;
}
LOCKSTEP_INLINE F64 host_sum(F64 a, F64 b) {
  return a + b;
}
LOCKSTEP_INLINE F16 host_sum(F16 a, F16 b) {
  return convert<F16>(convert<F32>(a) + convert<F32>(b));
}
LOCKSTEP_INLINE F32 host_product(F32 a, F32 b) {
  return a * b;
}
LOCKSTEP_INLINE F64 host_product(F64 a, F64 b) {
  return a * b;
}
LOCKSTEP_INLINE F16 host_product(F16 a, F16 b) {
  return convert<F16>(convert<F32>(a) * convert<F32>(b));
}
LOCKSTEP_INLINE F32 host_fma(F32 a, F32 b, F32 c) {
  return __builtin_elementwise_fma(a, b, c);
}
LOCKSTEP_INLINE F64 host_fma(F64 a, F64 b, F64 c) {
  return __builtin_elementwise_fma(a, b, c);
}

// The product of two halves is exact in F32. Its sum with the addend is rounded to odd there (Boldo and
// Melquiond: then a second rounding to 11 bits is as good as one, since 24 >= 11 + 2). The error term of the
// sum is exact by Knuth's two-sum; it is NaN where the sum is not finite, and then decides nothing.
LOCKSTEP_INLINE F32 half_fma_rounded_to_odd(F16 a, F16 b, F16 c) {
#ifdef __AVX512F__
  if (host_has_masks()) return fused_to_odd_by_host(convert<F32>(a), convert<F32>(b), convert<F32>(c));
#endif
  const F32 product = convert<F32>(a) * convert<F32>(b);
  const F32 addend = convert<F32>(c);
  const F32 sum = product + addend;
  const F32 addend_part = sum - product;
  const F32 error = (product - (sum - addend_part)) + (addend - addend_part);
  const I32 inexact_and_even = ((error < 0.0f) | (error > 0.0f)) & ((bits_as<U32>(sum) & 1) == 0);
  const I32 toward_zero = (bits_as<I32>(error) ^ bits_as<I32>(sum)) < 0;
  const I32 step = toward_zero ? I32(-1) : I32(1);
  return bits_as<F32>(bits_as<I32>(sum) + (inexact_and_even & step));
}
LOCKSTEP_INLINE F16 host_fma(F16 a, F16 b, F16 c) {
  return convert<F16>(half_fma_rounded_to_odd(a, b, c));
}

LOCKSTEP_INLINE F32 host_difference(F32 a, F32 b) {
  return a - b;
}
LOCKSTEP_INLINE F64 host_difference(F64 a, F64 b) {
  return a - b;
}
LOCKSTEP_INLINE F16 host_difference(F16 a, F16 b) {
  return convert<F16>(convert<F32>(a) - convert<F32>(b));
}

// Whether the host's result may differ from the exact one, beyond the flushing of denormals that follows.
template <class Float, class Mode>
LOCKSTEP_INLINE bool needs_exact(Float result, bool can_round_up_to_normal, Mode mode) {
  IntOf<Float> doubtful;
  if constexpr (selects_nans<Mode>) {
    doubtful = IntOf<Float>(0);
  } else if constexpr (sizeof(result) == sizeof(F16)) {
    doubtful = nan_lanes(result);
  } else {
    doubtful = result != result;
  }
  if (can_round_up_to_normal && !Layout<Float>::keeps_output_denormals(mode)) {
    doubtful |= magnitude(result) == IntOf<Float>(Layout<Float>::kMinNormal);
  }
  if (sizeof(result) == sizeof(F16) && mode.fp16_overflow_clamps()) {
    doubtful |= infinite_lanes(result);
  }
  return recompute_now(doubtful, mode);
}

template <class Float>
LOCKSTEP_INLINE IntOf<Float> invalid_product(Float a, Float b) {
  return (zero_lanes(a) & infinite_lanes(b)) | (infinite_lanes(a) & zero_lanes(b));
}

// The NaN among the results that the operands ask for, in modes that select it; others have looked before.
template <class Float, class Mode>
LOCKSTEP_INLINE Float with_nan(Float result, Float a, Float b, Mode mode) {
  if constexpr (!selects_nans<Mode>) return result;
  return nan_lanes(result) ? first_nan(a, b, mode) : result;
}
template <class Float, class Mode>
LOCKSTEP_INLINE Float with_nan(Float result, Float a, Float b, Float c, Mode mode) {
  if constexpr (!selects_nans<Mode>) return result;
  const Float addend = invalid_product(a, b) ? splat_bits<Float>(Layout<Float>::kDefaultNan) : c;
  return nan_lanes(result) ? first_nan(a, b, addend, mode) : result;
}

}  // namespace detail

template <class Float, class Mode>
LOCKSTEP_INLINE Float add(Float a, Float b, Mode mode) {
  if (!detail::rounds_to_nearest<Float>(mode)) return exact_add(a, b, mode_bits(mode));
  const Float result = detail::host_sum(flush_input(a, mode), flush_input(b, mode));
  if (detail::needs_exact(result, false, mode)) return exact_add(a, b, mode_bits(mode));
  return flush_output(detail::with_nan(result, a, b, mode), mode);
}

// a - b. NaN operands keep their sign.
template <class Float, class Mode>
LOCKSTEP_INLINE Float sub(Float a, Float b, Mode mode) {
  if (!detail::rounds_to_nearest<Float>(mode)) return exact_sub(a, b, mode_bits(mode));
  const Float result = detail::host_difference(flush_input(a, mode), flush_input(b, mode));
  if (detail::needs_exact(result, false, mode)) return exact_sub(a, b, mode_bits(mode));
  return flush_output(detail::with_nan(result, a, b, mode), mode);
}

// b - a, for v_subrev: the NaN of src0 = a wins.
template <class Float, class Mode>
LOCKSTEP_INLINE Float subrev(Float a, Float b, Mode mode) {
  if (!detail::rounds_to_nearest<Float>(mode)) return exact_subrev(a, b, mode_bits(mode));
  const Float result = detail::host_difference(flush_input(b, mode), flush_input(a, mode));
  if (detail::needs_exact(result, false, mode)) return exact_subrev(a, b, mode_bits(mode));
  return flush_output(detail::with_nan(result, a, b, mode), mode);
}

template <class Float, class Mode>
LOCKSTEP_INLINE Float mul(Float a, Float b, Mode mode) {
  if (!detail::rounds_to_nearest<Float>(mode)) return exact_mul(a, b, mode_bits(mode));
  const Float result = detail::host_product(flush_input(a, mode), flush_input(b, mode));
  if (detail::needs_exact(result, true, mode)) return exact_mul(a, b, mode_bits(mode));
  return flush_output(detail::with_nan(result, a, b, mode), mode);
}

// a * b + c with one rounding.
template <class Float, class Mode>
LOCKSTEP_INLINE Float fma(Float a, Float b, Float c, Mode mode) {
  if (!detail::rounds_to_nearest<Float>(mode)) return exact_fma(a, b, c, mode_bits(mode));
  const Float x = flush_input(a, mode), y = flush_input(b, mode);
  const Float result = detail::host_fma(x, y, flush_input(c, mode));
  if (detail::needs_exact(result, true, mode)) return exact_fma(a, b, c, mode_bits(mode));
  return flush_output(detail::with_nan(result, x, y, c, mode), mode);
}

// The DX9 multiplies flush F32 denormals whatever MODE says (measured for V_FMA_DX9_ZERO_F32, assumed for the
// multiply).
template <class Mode>
LOCKSTEP_INLINE RuntimeFloatMode without_f32_denormals(Mode mode) {
  return RuntimeFloatMode{mode_bits(mode) & ~0x30u};
}

// 0 * anything is +0, also for infinities and NaNs.
template <class Mode>
LOCKSTEP_INLINE F32 mul_dx9_zero(F32 a, F32 b, Mode mode) {
  const I32 zero = subnormal_or_zero_lanes(a) | subnormal_or_zero_lanes(b);
  return mul(zero ? F32(0) : a, zero ? F32(0) : b, without_f32_denormals(mode));
}

template <class Mode>
LOCKSTEP_INLINE F32 fma_dx9_zero(F32 a, F32 b, F32 c, Mode mode) {
  const I32 zero = subnormal_or_zero_lanes(a) | subnormal_or_zero_lanes(b);
  return fma(zero ? F32(0) : a, zero ? F32(0) : b, c, without_f32_denormals(mode));
}

}  // namespace lockstep::numeric
