// Rounding to integers, fraction, scaling by powers of two, taking floats apart.
#pragma once

#include "numeric/exact.h"
#include "numeric/format.h"
#include "numeric/host_masks.h"

namespace lockstep::numeric {

namespace detail {

template <class Float, class Operation>
LOCKSTEP_INLINE Float round_with(Float x, Operation operation) {
  if constexpr (sizeof(Float) == sizeof(F16)) {
    return convert<F16>(operation(widen(x)));
  } else {
    return operation(x);
  }
}

// 2^exponent for exponents of normal numbers.
template <class Float>
LOCKSTEP_INLINE Float power_of_two(IntOf<Float> exponent) {
  using L = Layout<Float>;
  return bits_as<Float>((exponent + L::kBias) << L::kFraction);
}

template <class Int>
LOCKSTEP_INLINE Int clamp_to(Int x, int low, int high) {
  return __builtin_elementwise_min(__builtin_elementwise_max(x, Int(low)), Int(high));
}

// As much of the exponent as one multiplication takes.
template <class Float>
LOCKSTEP_INLINE I32 exponent_at_once(I32 exponent) {
  return clamp_to(exponent, 1 - Layout<Float>::kBias, Layout<Float>::kBias);
}

// x * 2^exponent with one rounding, by the rounding of the host.
template <class Float>
LOCKSTEP_INLINE Float host_ldexp(Float x, I32 exponent) {
#ifdef __AVX512F__
  if (host_has_masks()) return scaled_by_host(x, exponent);
#endif
  const auto power = [](I32 of) __attribute__((always_inline)) {
    return power_of_two<Float>(convert<IntOf<Float>>(of));
  };
  I32 last = exponent_at_once<Float>(exponent);
  const I32 rest = exponent - last;
  if (__builtin_expect(any(mask_of(rest != 0)), false)) {
    // The greatest factor comes first where it makes numbers larger, so that none is denormal on the way, and
    // last where it makes them smaller: what was rounded before then comes to nothing. Three factors make the
    // largest number zero and the least denormal infinite.
    const I32 first = exponent_at_once<Float>(rest), second = exponent_at_once<Float>(rest - first);
    const I32 grows = rest > 0;
    x = (x * power(grows ? last : first)) * power(second);
    last = grows ? first : last;
  }
  return x * power(last);
}
// Exact in F32 before the one rounding to half.
LOCKSTEP_INLINE F32 wide_ldexp(F16 x, I32 exponent) {
  return convert<F32>(x) * power_of_two<F32>(clamp_to(exponent, -60, 60));
}
LOCKSTEP_INLINE F16 host_ldexp(F16 x, I32 exponent) {
  return convert<F16>(wide_ldexp(x, exponent));
}

// Exponent (of a fraction in [0.5, 1)) of normal and denormal lanes; anything elsewhere.
template <class Float>
LOCKSTEP_INLINE I32 fraction_exponent(Float x) {
  using L = Layout<Float>;
  if constexpr (sizeof(Float) == sizeof(F16)) {
    return fraction_exponent(convert<F32>(x));
  } else {
    constexpr int kNormalize = L::kFraction + 1;
    const IntOf<Float> tiny = subnormal_or_zero_lanes(x);
    const Float normal = tiny ? x * power_of_two<Float>(IntOf<Float>(kNormalize)) : x;
    return convert<I32>((magnitude(normal) >> L::kFraction) - (L::kBias - 1) - (tiny & kNormalize));
  }
}

}  // namespace detail

#define LOCKSTEP_ROUND(name, function)                                                                       \
  template <class Float, class Mode>                                                                         \
  LOCKSTEP_INLINE Float name(Float x, Mode mode) {                                                           \
    x = flush_input(x, mode);                                                                                \
    const Float rounded = detail::round_with(x, [](auto y) { return __builtin_elementwise_##function(y); }); \
    return mode.ieee() ? rounded : nan_lanes(x) ? x : rounded;                                               \
  }
LOCKSTEP_ROUND(floor, floor)
LOCKSTEP_ROUND(ceil, ceil)
LOCKSTEP_ROUND(trunc, trunc)
LOCKSTEP_ROUND(rndne, roundeven)
#undef LOCKSTEP_ROUND

// x - floor(x), rounded by mode, and at most the largest number below 1 (guide 16.8, V_FRACT_F32). Infinity
// is invalid.
template <class Float, class Mode>
LOCKSTEP_INLINE Float fract(Float x, Mode mode) {
  using L = Layout<Float>;
  if (L::round(mode) != Round::nearest_even) return exact_fract(x, mode_bits(mode));
  x = flush_input(x, mode);
  const Float fraction = detail::round_with(x, [](auto y) { return y - __builtin_elementwise_floor(y); });
  const IntOf<Float> below_one = IntOf<Float>(L::kOne - 1);
  const IntOf<Float> bits = bits_as<IntOf<Float>>(fraction);
  const Float clamped = bits_as<Float>(bits > below_one ? below_one : bits);
  const IntOf<Float> special = magnitude(x) >= IntOf<Float>(L::kInfinity);
  return flush_output(special ? first_nan(x, mode) : clamped, mode);
}

// x * 2^exponent with one rounding. F16 takes its exponent as I32 too: sign-extend it.
template <class Float, class Mode>
LOCKSTEP_INLINE Float ldexp(Float x, I32 exponent, Mode mode) {
  using L = Layout<Float>;
  if (L::round(mode) != Round::nearest_even) return exact_ldexp(x, exponent, mode_bits(mode));
  const Float input = flush_input(x, mode);
  const Float result = detail::host_ldexp(input, exponent);
  IntOf<Float> doubtful = IntOf<Float>(0);
  if (!L::keeps_output_denormals(mode)) doubtful |= magnitude(result) == IntOf<Float>(L::kMinNormal);
  if (sizeof(Float) == sizeof(F16) && mode.fp16_overflow_clamps()) doubtful |= infinite_lanes(result);
  if (recompute_now(doubtful, mode)) return exact_ldexp(x, exponent, mode_bits(mode));
  // The host quiets NaNs as MODE.IEEE asks for.
  if (sizeof(Float) != sizeof(F16) && mode.ieee()) return flush_output(result, mode);
  return flush_output(nan_lanes(x) ? quiet(x, mode) : result, mode);
}
template <class Mode>
LOCKSTEP_INLINE F16 ldexp(F16 x, I16 exponent, Mode mode) {
  return ldexp(x, convert<I32>(exponent), mode);
}

namespace detail {

// Compilers make quotients of F32 of what takes floats apart, nearly all of which are of normal numbers.
template <class Float>
LOCKSTEP_INLINE bool are_plain(Float x) {
  using L = Layout<Float>;
  if constexpr (sizeof(Float) != sizeof(F32)) return false;
  const BitsOf<Float> beyond_least = (to_bits(x) & L::kMagnitude) - L::kMinNormal;
  return !__builtin_expect(any(mask_of(beyond_least >= L::kInfinity - L::kMinNormal)), false);
}

}  // namespace detail

// Infinities and NaNs give themselves, zeros give zeros.
template <class Float, class Mode>
LOCKSTEP_INLINE Float frexp_mant(Float x, Mode mode) {
  using L = Layout<Float>;
  using Int = IntOf<Float>;
  x = flush_input(x, mode);
  const auto fraction_of = [](Float normal) __attribute__((always_inline)) {
    return (to_bits(normal) & ~BitsOf<Float>(L::kInfinity)) | (L::kOne - L::kMinNormal);
  };
  if (detail::are_plain(x)) return bits_as<Float>(fraction_of(x));
  const Int passes = zero_lanes(x) | (magnitude(x) >= Int(L::kInfinity));
  BitsOf<Float> fraction;
  if constexpr (sizeof(Float) == sizeof(F16)) {
    const U32 wide = (to_bits(convert<F32>(x)) & ~uint32_t{Layout<F32>::kInfinity}) | 0x3f000000u;
    fraction = to_bits(convert<F16>(bits_as<F32>(wide)));
  } else {
    fraction =
        fraction_of(subnormal_or_zero_lanes(x) ? x * detail::power_of_two<Float>(Int(L::kFraction + 1)) : x);
  }
  return passes ? quiet(x, mode) : bits_as<Float>(fraction);
}

// 0 for zeros, infinities and NaNs.
template <class Float, class Mode>
LOCKSTEP_INLINE I32 frexp_exp(Float x, Mode mode) {
  using L = Layout<Float>;
  x = flush_input(x, mode);
  if (detail::are_plain(x)) return convert<I32>((magnitude(x) >> L::kFraction) - (L::kBias - 1));
  const IntOf<Float> none = zero_lanes(x) | (magnitude(x) >= IntOf<Float>(L::kInfinity));
  return select(mask_of(none), I32(0), detail::fraction_exponent(x));
}

}  // namespace lockstep::numeric
