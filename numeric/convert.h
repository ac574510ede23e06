// Conversions between formats and integers (guide 16.7 to 16.10). Float to integer truncates, saturates, and
// gives 0 for NaN. A rounding to F32 obeys MODE.round of F32, one to F16 that of F16 and F64.
#pragma once

#include "numeric/exact.h"
#include "numeric/format.h"
#include "numeric/host_masks.h"
#include "numeric/round.h"

namespace lockstep::numeric {

// ---- Between floats ----

template <class Mode>
LOCKSTEP_INLINE F32 f16_to_f32(F16 x, Mode mode) {
  x = flush_input(x, mode);
  const F32 wide = convert<F32>(x);
  if (mode.ieee()) return wide;
  // The host's conversion quiets; IEEE = 0 does not.
  const I32 signalling = convert<I32>(signalling_lanes(x));
  return bits_as<F32>(signalling ? to_bits(wide) & ~uint32_t{Layout<F32>::kQuiet} : to_bits(wide));
}

template <class Mode>
LOCKSTEP_INLINE F64 f32_to_f64(F32 x, Mode mode) {
  x = flush_input(x, mode);
  const F64 wide = convert<F64>(x);
  if (mode.ieee()) return wide;
  const I64 signalling = convert<I64>(signalling_lanes(x));
  return bits_as<F64>(signalling ? to_bits(wide) & ~uint64_t{Layout<F64>::kQuiet} : to_bits(wide));
}

template <class Mode>
LOCKSTEP_INLINE F16 f32_to_f16(F32 x, Mode mode) {
  const bool plain = mode.round_f16_f64() == Round::nearest_even && mode.denorm_out_f16_f64() &&
                     mode.ieee() && !mode.fp16_overflow_clamps();
  return plain ? convert<F16>(flush_input(x, mode)) : exact_cvt_f16_f32(x, mode_bits(mode));
}

template <class Mode>
LOCKSTEP_INLINE F32 f64_to_f32(F64 x, Mode mode) {
  const bool plain = mode.round_f32() == Round::nearest_even && mode.denorm_out_f32() && mode.ieee();
  return plain ? convert<F32>(flush_input(x, mode)) : exact_cvt_f32_f64(x, mode_bits(mode));
}

// Round toward zero whatever MODE.round says, so a finite source never gives an infinity.
template <class Mode>
LOCKSTEP_INLINE F16 f32_to_f16_rtz(F32 x, Mode mode) {
  x = flush_input(x, mode);
  const F32 size = abs(x);
  const F32 kept = bits_as<F32>(to_bits(size) & 0xffffe000u);
  const F32 largest = splat_bits<F32>(0x477fe000u);  // 65504
  const I32 finite = magnitude(x) < I32(Layout<F32>::kInfinity);
  const U16 normal = to_bits(convert<F16>(finite ? (kept > largest ? largest : kept) : size));
  const I32 tiny = magnitude(x) < 0x38800000;  // 2^-14
  const U16 subnormal = convert<U16>(convert<I32>((tiny ? size : F32(0)) * 0x1p24f));
  const I16 tiny16 = convert<I16>(tiny);
  const U16 result = tiny16 ? (mode.denorm_out_f16_f64() ? subnormal : U16(0)) : normal;
  const F16 with_sign = bits_as<F16>(result | (convert<U16>(to_bits(x) >> 16) & Layout<F16>::kSign));
  return unquiet_narrowed(x, with_sign, mode);
}

// BF16 is the upper half of an F32.
LOCKSTEP_INLINE F32 bf16_to_f32(U16 x) {
  return bits_as<F32>(convert<U32>(x) << 16);
}
// Nearest even; NaNs are quieted.
LOCKSTEP_INLINE U16 f32_to_bf16(F32 x) {
  const U32 bits = to_bits(x);
  const U32 rounded = bits + 0x7fff + ((bits >> 16) & 1);
  return convert<U16>((nan_lanes(x) ? bits | Layout<F32>::kQuiet : rounded) >> 16);
}
LOCKSTEP_INLINE U16 f32_to_bf16_rtz(F32 x) {
  return convert<U16>((nan_lanes(x) ? to_bits(x) | Layout<F32>::kQuiet : to_bits(x)) >> 16);
}

// ---- Floats to integers ----

namespace detail {

// Truncation with saturation to [low, high]. `last`: the greatest number of Float's that is not above `high`;
// `low` is one.
template <class Integer, class Float>
LOCKSTEP_INLINE Integer saturate_to(Float x, double low, double last, double high) {
  using Scalar = typename Layout<Float>::Scalar;
  const Float least = Float(static_cast<Scalar>(low)), most = Float(static_cast<Scalar>(last));
  // Converting what does not fit would be poison in LLVM. NaNs become the least.
  const Float from_least = x > least ? x : least;
  Integer value = convert<Integer>(from_least < most ? from_least : most);
  if (last != high) {
    using Element = decltype(Integer{}[0] + 0);
    value = select(mask_of(x > most), Integer(static_cast<Element>(high)), value);
  }
  return low == 0 ? value : select(mask_of(x == x), value, Integer(0));
}

}  // namespace detail

LOCKSTEP_INLINE I32 f32_to_i32(F32 x) {
#ifdef __AVX512F__
  if (detail::host_has_masks()) return x > 0x1.fffffep30f ? I32(INT32_MAX) : detail::converted_by_host(x);
#endif
  return detail::saturate_to<I32>(x, INT32_MIN, 0x1.fffffep30, INT32_MAX);
}
LOCKSTEP_INLINE U32 f32_to_u32(F32 x) {
#ifdef __AVX512F__
  if (detail::host_has_masks()) return detail::converted_unsigned_by_host(x);
#endif
  return detail::saturate_to<U32>(x, 0, 0x1.fffffep31, UINT32_MAX);
}
LOCKSTEP_INLINE I32 f64_to_i32(F64 x) {
  // Values in (-2^31 - 1, -2^31) truncate to the lowest integer, which is what saturation gives as well.
  return detail::saturate_to<I32>(x, INT32_MIN, INT32_MAX, INT32_MAX);
}
LOCKSTEP_INLINE U32 f64_to_u32(F64 x) {
  return detail::saturate_to<U32>(x, 0, UINT32_MAX, UINT32_MAX);
}

template <class Mode>
LOCKSTEP_INLINE I32 f32_to_i32_floor(F32 x, Mode mode) {
  return f32_to_i32(__builtin_elementwise_floor(flush_input(x, mode)));
}
// floor(x + 0.5) of the exact sum (measured): ties go up, and 0.5 - 2^-25 gives 0. The difference x -
// floor(x) is exact where it can decide, or rounds to 1.
LOCKSTEP_INLINE I32 f32_to_i32_nearest(F32 x) {
  const F32 whole = __builtin_elementwise_floor(x);
  const I32 up = (x - whole) >= 0.5f;
  return f32_to_i32(up ? whole + 1.0f : whole);
}

LOCKSTEP_INLINE I16 f32_to_i16(F32 x) {
  return convert<I16>(detail::saturate_to<I32>(x, INT16_MIN, INT16_MAX, INT16_MAX));
}
LOCKSTEP_INLINE U16 f32_to_u16(F32 x) {
  return convert<U16>(detail::saturate_to<I32>(x, 0, UINT16_MAX, UINT16_MAX));
}
LOCKSTEP_INLINE U32 f32_to_u8(F32 x) {
  return bits_as<U32>(detail::saturate_to<I32>(x, 0, 255, 255));
}
LOCKSTEP_INLINE I16 f16_to_i16(F16 x) {
  return f32_to_i16(widen(x));
}
LOCKSTEP_INLINE U16 f16_to_u16(F16 x) {
  return f32_to_u16(widen(x));
}

// Normalized integers: [-1, 1] or [0, 1] scaled and rounded to nearest even (the rounding is an assumption);
// NaN gives 0.
LOCKSTEP_INLINE I16 f32_to_snorm16(F32 x) {
  const F32 number = x == x ? x : F32(0);
  const F32 clamped = number < -1.0f ? F32(-1.0f) : number > 1.0f ? F32(1.0f) : number;
  // The product is exact in F64, so it is rounded only once.
  return convert<I16>(convert<I32>(__builtin_elementwise_roundeven(convert<F64>(clamped) * 32767.0)));
}
LOCKSTEP_INLINE U16 f32_to_unorm16(F32 x) {
  const F32 clamped = x > 0.0f ? (x > 1.0f ? F32(1.0f) : x) : F32(0);
  return convert<U16>(convert<I32>(__builtin_elementwise_roundeven(convert<F64>(clamped) * 65535.0)));
}
LOCKSTEP_INLINE I16 f16_to_snorm16(F16 x) {
  return f32_to_snorm16(widen(x));
}
LOCKSTEP_INLINE U16 f16_to_unorm16(F16 x) {
  return f32_to_unorm16(widen(x));
}

// ---- Integers to floats ----

template <class Mode>
LOCKSTEP_INLINE F32 i32_to_f32(I32 x, Mode mode) {
  if (mode.round_f32() != Round::nearest_even) return exact_cvt_f32_i32(x, mode_bits(mode));
  return convert<F32>(x);
}
template <class Mode>
LOCKSTEP_INLINE F32 u32_to_f32(U32 x, Mode mode) {
  if (mode.round_f32() != Round::nearest_even) return exact_cvt_f32_u32(x, mode_bits(mode));
  return convert<F32>(x);
}
LOCKSTEP_INLINE F64 i32_to_f64(I32 x) {
  return convert<F64>(x);
}
LOCKSTEP_INLINE F64 u32_to_f64(U32 x) {
  return convert<F64>(x);
}
// Byte 0 to 3 of each lane.
LOCKSTEP_INLINE F32 ubyte_to_f32(U32 x, unsigned byte) {
  return convert<F32>(bits_as<I32>((x >> (8 * byte)) & 0xff));
}
template <class Mode>
LOCKSTEP_INLINE F16 i16_to_f16(I16 x, Mode mode) {
  if (mode.round_f16_f64() != Round::nearest_even) return exact_cvt_f16_i16(x, mode_bits(mode));
  return convert<F16>(convert<F32>(convert<I32>(x)));
}
template <class Mode>
LOCKSTEP_INLINE F16 u16_to_f16(U16 x, Mode mode) {
  if (mode.round_f16_f64() != Round::nearest_even || mode.fp16_overflow_clamps()) {
    return exact_cvt_f16_u16(x, mode_bits(mode));
  }
  return convert<F16>(convert<F32>(convert<I32>(x)));
}
// The low four bits as a signed number of sixteenths.
LOCKSTEP_INLINE F32 off_i4_to_f32(U32 x) {
  return convert<F32>(bits_as<I32>(x << 28) >> 28) * 0.0625f;
}

// ---- Packing ----

LOCKSTEP_INLINE U32 pack(U16 low, U16 high) {
  return convert<U32>(low) | (convert<U32>(high) << 16);
}
LOCKSTEP_INLINE U32 pack(I16 low, I16 high) {
  return pack(bits_as<U16>(low), bits_as<U16>(high));
}
LOCKSTEP_INLINE U32 pack(F16 low, F16 high) {
  return pack(bits_as<U16>(low), bits_as<U16>(high));
}
LOCKSTEP_INLINE I16 i32_to_i16(I32 x) {
  return convert<I16>(detail::clamp_to(x, INT16_MIN, INT16_MAX));
}
LOCKSTEP_INLINE U16 u32_to_u16(U32 x) {
  return convert<U16>(__builtin_elementwise_min(x, U32(UINT16_MAX)));
}

template <class Mode>
LOCKSTEP_INLINE U32 cvt_pk_rtz_f16_f32(F32 low, F32 high, Mode mode) {
  return pack(f32_to_f16_rtz(low, mode), f32_to_f16_rtz(high, mode));
}
LOCKSTEP_INLINE U32 cvt_pk_norm_i16_f32(F32 low, F32 high) {
  return pack(f32_to_snorm16(low), f32_to_snorm16(high));
}
LOCKSTEP_INLINE U32 cvt_pk_norm_u16_f32(F32 low, F32 high) {
  return pack(f32_to_unorm16(low), f32_to_unorm16(high));
}
LOCKSTEP_INLINE U32 cvt_pk_norm_i16_f16(F16 low, F16 high) {
  return pack(f16_to_snorm16(low), f16_to_snorm16(high));
}
LOCKSTEP_INLINE U32 cvt_pk_norm_u16_f16(F16 low, F16 high) {
  return pack(f16_to_unorm16(low), f16_to_unorm16(high));
}
LOCKSTEP_INLINE U32 cvt_pk_i16_f32(F32 low, F32 high) {
  return pack(f32_to_i16(low), f32_to_i16(high));
}
LOCKSTEP_INLINE U32 cvt_pk_u16_f32(F32 low, F32 high) {
  return pack(f32_to_u16(low), f32_to_u16(high));
}
LOCKSTEP_INLINE U32 cvt_pk_i16_i32(I32 low, I32 high) {
  return pack(i32_to_i16(low), i32_to_i16(high));
}
LOCKSTEP_INLINE U32 cvt_pk_u16_u32(U32 low, U32 high) {
  return pack(u32_to_u16(low), u32_to_u16(high));
}
// Puts x, truncated to 0..255, into the byte of `rest` that the low two bits of `byte` select.
LOCKSTEP_INLINE U32 cvt_pk_u8_f32(F32 x, U32 byte, U32 rest) {
  const U32 shift = (byte & 3) * 8;
  return (rest & ~(U32(0xff) << shift)) | (f32_to_u8(x) << shift);
}

}  // namespace lockstep::numeric
