// The helpers of the division macros: V_DIV_SCALE, V_DIV_FMAS, V_DIV_FIXUP; and V_TRIG_PREOP_F64.
// Measured on gfx1100; where that differs from the guide (16.12) the measurement is followed.
#pragma once

#include "numeric/arithmetic.h"
#include "numeric/exact.h"
#include "numeric/format.h"

namespace lockstep::numeric {

template <class Float>
struct Scaled {
  Float value;
  Mask needs_scaling;
};

namespace detail {

template <class Float>
struct DivisionLimits;
template <>
struct DivisionLimits<F32> {
  static constexpr int kScale = 64;
  // Differences of encoded exponents from which the quotient is close to overflow, and below which it is
  // denormal or close to it: measured between -95 and -100, taken symmetric.
  static constexpr int kHuge = 96;
  static constexpr int kUnderflow = -151;
};
template <>
struct DivisionLimits<F64> {
  static constexpr int kScale = 128;
  static constexpr int kHuge = 768;
  static constexpr int kUnderflow = -1076;
};

template <class Float>
LOCKSTEP_INLINE IntOf<Float> encoded_exponent(Float x) {
  return magnitude(x) >> Layout<Float>::kFraction;
}

// Numbers of ordinary size: neither they nor their quotients come near any limit, nor are they NaNs. Of
// F16, which has no limits of its own, none is.
template <class Float>
LOCKSTEP_INLINE bool all_ordinary(Float a, Float b, Float c) {
  if constexpr (sizeof(Float) == sizeof(F16)) {
    return false;
  } else {
    using L = Layout<Float>;
    using Bits = BitsOf<Float>;
    constexpr int kReach = DivisionLimits<Float>::kHuge / 2 - 1;
    using Element = decltype(Bits{}[0] + 0);
    constexpr Element kLeast = Element{L::kBias - kReach} << L::kFraction,
                      kCount = Element{2 * kReach} << L::kFraction;
    const auto extreme = [](Float x) __attribute__((always_inline)) {
      return (to_bits(x) & L::kMagnitude) - kLeast >= kCount;
    };
    return !any(mask_of(extreme(a) | extreme(b) | extreme(c)));
  }
}

}  // namespace detail

// Scales `x`, which is the numerator or the denominator, so that the division steps neither overflow nor
// underflow. The mask asks V_DIV_FMAS to scale the quotient back.
template <class Float, class Mode>
LOCKSTEP_INLINE Scaled<Float> div_scale(Float x, Float denominator, Float numerator, Mode mode) {
  using L = Layout<Float>;
  using Int = IntOf<Float>;
  using Limits = detail::DivisionLimits<Float>;
  if (__builtin_expect(detail::all_ordinary(x, denominator, numerator), true)) return {x, Mask(false)};
  x = flush_input(x, mode);
  const Float d = flush_input(denominator, mode);
  const Float n = flush_input(numerator, mode);
  const Int is_d = to_bits(x) == to_bits(d);
  const Int is_n = to_bits(x) == to_bits(n);
  const Int d_exponent = detail::encoded_exponent(d);
  const Int n_exponent = detail::encoded_exponent(n);
  const Int difference = n_exponent - d_exponent;

  const Int zero = zero_lanes(d) | zero_lanes(n);
  const Int huge = ~zero & (difference >= Int(Limits::kHuge));
  const Int tiny_d = ~zero & ~huge & (d_exponent == 0);
  const Int rest = ~zero & ~huge & ~tiny_d;
  const Int large_d = rest & (d_exponent >= Int(2 * L::kBias - 1));
  const Int tiny_quotient = rest & (difference <= Int(-Limits::kHuge));
  const Int tiny_n = rest & ~large_d & ~tiny_quotient & (n_exponent <= Int(L::kFraction + 1));

  const Int up = (huge & is_d) | tiny_d | (tiny_quotient & ~large_d & is_n) | tiny_n;
  const Int down = large_d & (~tiny_quotient | is_d);
  const Float factor = up     ? detail::power_of_two<Float>(Int(Limits::kScale))
                       : down ? detail::power_of_two<Float>(Int(-Limits::kScale))
                              : detail::power_of_two<Float>(Int(0));
  const Float scaled = nan_lanes(x) ? quiet(x, mode) : x * factor;
  // Measured: the NaN of a zero asks for scaling, too; the guide's formula does not.
  return {zero ? splat_bits<Float>(L::kDefaultNan) : scaled, mask_of(zero | huge | tiny_quotient)};
}

// fma(a, b, c), where `scale` is set times 2^64 (F64: 2^128) if |c| >= 2, else times 2^-64, all with one
// rounding. Denormal inputs are never flushed, denormal results are by mode.
template <class Mode>
LOCKSTEP_INLINE F32 div_fmas(F32 a, F32 b, F32 c, Mask scale, Mode mode) {
  if (__builtin_expect(any(scale), false)) {
    // Copies, so that nothing else goes through memory.
    const F32 factor = a, other = b, addend = c;
    F32 result;
    lockstep_exact_div_fmas_f32(&factor, &other, &addend, bits_from_mask(scale), mode_bits(mode), &result);
    return result;
  }
  // The default mode keeps denormals.
  if constexpr (Mode::is_default)
    return fma(a, b, c, mode);
  else
    return fma(a, b, c, RuntimeFloatMode{mode_bits(mode) | 0x10u});
}
template <class Mode>
LOCKSTEP_INLINE F64 div_fmas(F64 a, F64 b, F64 c, Mask scale, Mode mode) {
  if (__builtin_expect(any(scale), false)) {
    // Copies, so that nothing else goes through memory.
    const F64 factor = a, other = b, addend = c;
    F64 result;
    lockstep_exact_div_fmas_f64(&factor, &other, &addend, bits_from_mask(scale), mode_bits(mode), &result);
    return result;
  }
  // The default mode keeps denormals.
  if constexpr (Mode::is_default)
    return fma(a, b, c, mode);
  else
    return fma(a, b, c, RuntimeFloatMode{mode_bits(mode) | 0x40u});
}

// Puts the special cases of numerator / denominator right; otherwise the quotient's size with the right sign.
// Measured for F32 and F64: a quotient that is a NaN though its operands are ordinary counts as overflowed.
template <class Float, class Mode>
LOCKSTEP_INLINE Float div_fixup(Float quotient, Float denominator, Float numerator, Mode mode) {
  using L = Layout<Float>;
  using Int = IntOf<Float>;
  using Bits = BitsOf<Float>;
  if (__builtin_expect(detail::all_ordinary(numerator, denominator, numerator), true) &&
      !any(mask_of(nan_lanes(quotient)))) {
    const Bits sign = (to_bits(denominator) ^ to_bits(numerator)) & L::kSign;
    return bits_as<Float>((to_bits(quotient) & L::kMagnitude) | sign);
  }
  const Float d = flush_input(denominator, mode);
  const Float n = flush_input(numerator, mode);
  const Bits sign = (to_bits(d) ^ to_bits(n)) & L::kSign;
  Bits size = to_bits(quotient) & L::kMagnitude;

  if constexpr (sizeof(Float) != sizeof(F16)) {
    using Limits = detail::DivisionLimits<Float>;
    const Int difference = detail::encoded_exponent(n) - detail::encoded_exponent(d);
    const Round round = L::round(mode);
    Int away = Int(round == Round::nearest_even ? -1 : 0);
    Int from_zero = Int(0);
    if (round == Round::plus_infinity) away = from_zero = sign == 0;
    if (round == Round::minus_infinity) away = from_zero = sign != 0;
    const Bits least = L::keeps_output_denormals(mode) ? bits_as<Bits>(from_zero & Int(1)) : Bits(0);
    // An encoded difference of bias + 2 is the least that always overflows.
    const Int overflow = (difference >= Int(L::kBias + 2)) | nan_lanes(quotient);
    size = overflow ? (away ? Bits(L::kInfinity) : Bits(L::kMaxFinite)) : size;
    size = difference <= Int(Limits::kUnderflow) ? least : size;
  }
  const Int zero_d = zero_lanes(d);
  const Int zero_n = zero_lanes(n);
  const Int infinite_d = infinite_lanes(d);
  const Int infinite_n = infinite_lanes(n);
  size = infinite_d | zero_n ? Bits(0) : size;
  size = zero_d | infinite_n ? Bits(L::kInfinity) : size;
  Bits result = size | sign;
  result = (zero_d & zero_n) | (infinite_d & infinite_n) ? Bits(L::kDefaultNan) : result;
  const Int nan = nan_lanes(n) | nan_lanes(d);
  return nan ? first_nan(n, d, mode) : bits_as<Float>(result);
}

// 53 bits of 2/pi for the reduction of x, from the segment that the low five bits of `segment` and x's
// exponent select.
LOCKSTEP_INLINE F64 trig_preop_f64(F64 x, U32 segment) {
  F64 result;
  lockstep_exact_trig_preop_f64(&x, &segment, &result);
  return result;
}

}  // namespace lockstep::numeric
