// Output modifiers: OMOD and CLAMP of float results, saturation of integer results (guide 7.2.3.1).
#pragma once

#include "numeric/format.h"

namespace lockstep::numeric {

namespace detail {

LOCKSTEP_INLINE F32 host_scale(F32 x, float factor) {
  return x * factor;
}
LOCKSTEP_INLINE F64 host_scale(F64 x, float factor) {
  return x * static_cast<double>(factor);
}
LOCKSTEP_INLINE F16 host_scale(F16 x, float factor) {
  return convert<F16>(convert<F32>(x) * factor);
}

}  // namespace detail

// Whether gfx11 applies OMOD at all (measured): only without IEEE and without output denormals of the format.
template <class Float, class Mode>
LOCKSTEP_INLINE bool omod_applies(Mode mode) {
  return !mode.ieee() && !Layout<Float>::keeps_output_denormals(mode);
}

// Multiplies an already rounded result: code 1 by 2, 2 by 4, 3 by 1/2. Zeros become +0; what falls below the
// smallest normal becomes a zero of its sign (measured). Overflow obeys MODE.round, or FP16_OVFL for halves.
// NaNs pass.
template <class Float>
LOCKSTEP_INLINE Float scale_output(Float x, unsigned omod, Round round, bool fp16_overflow_clamps) {
  using L = Layout<Float>;
  using Int = IntOf<Float>;
  if (omod == 0) return x;
  const Float scaled = detail::host_scale(x, omod == 1 ? 2.0f : omod == 2 ? 4.0f : 0.5f);
  // When halving, decided by the operand: the host would round some up to the smallest normal.
  const Int underflow = omod == 3 ? magnitude(x) < Int(2 * L::kMinNormal) : subnormal_or_zero_lanes(scaled);
  BitsOf<Float> bits = underflow ? to_bits(x) & L::kSign : to_bits(scaled);
  const Int overflow = infinite_lanes(scaled) & (magnitude(x) < Int(L::kInfinity));
  const bool halves_clamp = sizeof(Float) == sizeof(F16) && fp16_overflow_clamps;
  const Int negative = negative_lanes(x);
  Int saturates = Int(round == Round::to_zero || halves_clamp ? -1 : 0);
  if (round == Round::plus_infinity) saturates |= negative;
  if (round == Round::minus_infinity) saturates |= ~negative;
  bits = overflow & saturates ? bits - 1 : bits;
  bits = zero_lanes(x) ? BitsOf<Float>(0) : bits;
  return nan_lanes(x) ? x : bits_as<Float>(bits);
}

template <class Float, class Mode>
LOCKSTEP_INLINE Float omod(Float x, unsigned code, Mode mode) {
  if (!omod_applies<Float>(mode)) return x;
  return scale_output(x, code, Layout<Float>::round(mode), mode.fp16_overflow_clamps());
}

// V_FMA_DX9_ZERO_F32 and its like have no output denormals whatever MODE says, so only IEEE disables their
// OMOD (measured).
template <class Mode>
LOCKSTEP_INLINE F32 omod_dx9(F32 x, unsigned code, Mode mode) {
  if (mode.ieee()) return x;
  return scale_output(x, code, mode.round_f32(), false);
}

// To [0, 1]; -0 becomes +0. NaN becomes +0 with DX10_CLAMP and passes without (measured for gfx11).
template <class Float, class Mode>
LOCKSTEP_INLINE Float clamp(Float x, Mode mode) {
  using L = Layout<Float>;
  using Int = IntOf<Float>;
  const Int bits = bits_as<Int>(x);
  const Int one = Int(L::kOne);
  // As integers: negatives (with -0) are below zero, positive values keep their order.
  const Int in_range = bits < 0 ? Int(0) : bits > one ? one : bits;
  const Int nan = mode.dx10_clamp() ? Int(0) : bits;
  return bits_as<Float>(nan_lanes(x) ? nan : in_range);
}

// Saturating integer results.
LOCKSTEP_INLINE U32 add_saturated(U32 a, U32 b) {
  return __builtin_elementwise_add_sat(a, b);
}
LOCKSTEP_INLINE I32 add_saturated(I32 a, I32 b) {
  return __builtin_elementwise_add_sat(a, b);
}
LOCKSTEP_INLINE U16 add_saturated(U16 a, U16 b) {
  return __builtin_elementwise_add_sat(a, b);
}
LOCKSTEP_INLINE I16 add_saturated(I16 a, I16 b) {
  return __builtin_elementwise_add_sat(a, b);
}
LOCKSTEP_INLINE U32 sub_saturated(U32 a, U32 b) {
  return __builtin_elementwise_sub_sat(a, b);
}
LOCKSTEP_INLINE I32 sub_saturated(I32 a, I32 b) {
  return __builtin_elementwise_sub_sat(a, b);
}
LOCKSTEP_INLINE U16 sub_saturated(U16 a, U16 b) {
  return __builtin_elementwise_sub_sat(a, b);
}
LOCKSTEP_INLINE I16 sub_saturated(I16 a, I16 b) {
  return __builtin_elementwise_sub_sat(a, b);
}
LOCKSTEP_INLINE I32 saturate_i32(I64 exact) {
  return convert<I32>(
      __builtin_elementwise_min(__builtin_elementwise_max(exact, I64(INT32_MIN)), I64(INT32_MAX)));
}
LOCKSTEP_INLINE U32 saturate_u32(I64 exact) {
  return convert<U32>(__builtin_elementwise_min(__builtin_elementwise_max(exact, I64(0)), I64(UINT32_MAX)));
}
LOCKSTEP_INLINE U32 saturate_u32(U64 exact) {
  return convert<U32>(__builtin_elementwise_min(exact, U64(UINT32_MAX)));
}

}  // namespace lockstep::numeric
