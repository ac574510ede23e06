// The F32 transcendental functions of `--math fast`: within one unit in the last place of the truth and a few
// times quicker than the card's bits (transcendental.h). What the card makes of zeros, denormals, infinities
// and NaNs stays. docs/arithmetic.md has their measured errors over all arguments.
#pragma once

#include "numeric/format.h"

namespace lockstep::numeric::fast {

namespace detail {

using L = Layout<F32>;

template <class Mode>
LOCKSTEP_INLINE F32 with_nans(F32 x, U32 result, Mode mode) {
  return bits_as<F32>(nan_lanes(x) ? to_bits(x) | (mode.ieee() ? L::kQuiet : 0) : result);
}

LOCKSTEP_INLINE U32 sign_of(F32 x) {
  return to_bits(x) & L::kSign;
}

// Denormals as zeros of their sign.
LOCKSTEP_INLINE F32 flushed(F32 x) {
  return bits_as<F32>(magnitude(x) < int32_t{L::kMinNormal} ? sign_of(x) : to_bits(x));
}

// Coefficients from the highest power down.
template <class Float, class First, class... Others>
LOCKSTEP_INLINE Float polynomial(Float x, First first, Others... others) {
  Float sum(first);
  ((sum = __builtin_elementwise_fma(sum, x, Float(others))), ...);
  return sum;
}

// Of turns from -1/8 to 1/8. Two pi is a sum of two floats, so that one rounding is all that counts.
LOCKSTEP_INLINE F32 sine_of_octant(F32 r, F32 square) {
  const F32 rest =
      polynomial(square, 41.58954214870344f, -76.70128589489455f, 81.6052349923186f, -41.34170223342613f);
  const F32 low = __builtin_elementwise_fma(square, rest, F32(-0x1.777a5cp-23f));
  return __builtin_elementwise_fma(r, F32(0x1.921fb6p+2f), r * low);
}
LOCKSTEP_INLINE F32 cosine_of_octant(F32 r, F32 square) {
  // Of the square.
  const F32 lost = __builtin_elementwise_fma(r, r, -square);
  const F32 rest = polynomial(square, 59.42410598170417f, -85.44882008964964f, 64.93936905141976f);
  // 1 + square * (-19.7... + square * rest), the product with the leading coefficient in full.
  const F32 head = square * -0x1.3bd3ccp+4f;
  const F32 head_lost = __builtin_elementwise_fma(square, F32(-0x1.3bd3ccp+4f), -head);
  const F32 low = __builtin_elementwise_fma(square, rest, F32(-5.685519610665324e-07f));
  const F32 tail = __builtin_elementwise_fma(square, low, head_lost + lost * -0x1.3bd3ccp+4f);
  const F32 sum = 1.0f + head;
  const F32 sum_lost = (1.0f - sum) + head;
  return sum + (sum_lost + tail);
}

template <class Mode>
LOCKSTEP_INLINE F32 sine_or_cosine(F32 given, bool cosine, Mode mode) {
  const F32 x = flush_input(given, mode);
  // From 2^23 on floats are whole turns. The rest is exact up to the octant.
  const F32 turn = x - __builtin_elementwise_roundeven(x);
  const F32 quarter = __builtin_elementwise_roundeven(turn * 4.0f);
  const F32 r = __builtin_elementwise_fma(quarter, F32(-0.25f), turn);
  const I32 quadrant = convert<I32>(quarter) + (cosine ? 1 : 0);
  const F32 square = r * r;
  const I32 is_odd = (quadrant & 1) != 0;
  const U32 value = is_odd ? to_bits(cosine_of_octant(r, square)) : to_bits(sine_of_octant(r, square));
  const U32 result = value ^ bits_as<U32>((quadrant & 2) << 30);
  const U32 finite = to_bits(flush_output(bits_as<F32>(result), mode));
  return with_nans(given, magnitude(x) == int32_t{L::kInfinity} ? U32(L::kDefaultNan) : finite, mode);
}

}  // namespace detail

// Correctly rounded; denormal results are zeros.
template <class Mode>
LOCKSTEP_INLINE F32 rcp(F32 x, Mode mode) {
  using detail::L;
  const F32 quotient = 1.0f / x;
  const U32 result = magnitude(x) < int32_t{L::kMinNormal} ? detail::sign_of(x) | L::kInfinity
                                                           : to_bits(detail::flushed(quotient));
  return detail::with_nans(x, result, mode);
}

// Correctly rounded.
template <class Mode>
LOCKSTEP_INLINE F32 sqrt(F32 given, Mode mode) {
  using detail::L;
  const F32 x = detail::flushed(given);
  const U32 result = x < 0.0f ? U32(L::kDefaultNan) : to_bits(__builtin_elementwise_sqrt(x));
  return detail::with_nans(given, result, mode);
}

template <class Mode>
LOCKSTEP_INLINE F32 rsq(F32 given, Mode mode) {
  using detail::L;
  const F32 flushed = detail::flushed(given);
  // The residue of the root must not become denormal.
  const I32 is_small = flushed < 0x1p-96f;
  const F32 x = is_small ? flushed * 0x1p48f : flushed;
  const F32 root = __builtin_elementwise_sqrt(x), estimate = 1.0f / root;
  // What the root lacks, then what the quotient lacks: together the error of the estimate.
  const F32 root_error = __builtin_elementwise_fma(-root, root, x) * (0.5f * estimate);
  const F32 residue = __builtin_elementwise_fma(-root, estimate, F32(1.0f)) - root_error * estimate;
  const F32 improved = __builtin_elementwise_fma(estimate, residue, estimate);
  const F32 usual = is_small ? improved * 0x1p24f : improved;
  const I32 size = magnitude(x);
  U32 result = size == 0 ? detail::sign_of(x) | L::kInfinity : to_bits(usual);
  result = size == int32_t{L::kInfinity} ? U32(0) : result;
  result = x < 0.0f ? U32(L::kDefaultNan) : result;
  return detail::with_nans(given, result, mode);
}

template <class Mode>
LOCKSTEP_INLINE F32 exp2(F32 x, Mode mode) {
  using detail::L;
  const F32 limited = __builtin_elementwise_min(__builtin_elementwise_max(x, F32(-127.0f)), F32(128.0f));
  const F32 whole = __builtin_elementwise_roundeven(limited), part = limited - whole;
  const F32 power = detail::polynomial(part, 1.5297323760701075e-05f, 0.0001546144469856913f,
                                       0.001333350238616277f, 0.009618056678524637f, 0.055504108839096185f,
                                       0.24022650922288757f, 0.6931471805599453f, 1.0f);
  U32 result = to_bits(power) + bits_as<U32>(convert<I32>(whole) << 23);
  result = x < -126.0f ? U32(0) : result;
  result = x >= 128.0f ? U32(L::kInfinity) : result;
  return detail::with_nans(x, result, mode);
}

template <class Mode>
LOCKSTEP_INLINE F32 log2(F32 x, Mode mode) {
  using detail::L;
  // x = 2^exponent * (1 + part), 1 + part between the roots of 1/2 and 2.
  const I32 bits = bits_as<I32>(x);
  const I32 exponent = (bits - 0x3f3504f3) >> 23;
  const F64 part = convert<F64>(bits_as<F32>(bits - (exponent << 23))) - 1.0;
  const F64 slope =
      detail::polynomial(part, 0.09481863798699576, -0.16765051818984325, 0.17234259277671127,
                         -0.17919457239512765, 0.20504002106652403, -0.24044757077719425, 0.2885755897331174,
                         -0.36067466009513405, 0.48089790445500086, -0.7213475119905358, 1.4426950417560511);
  U32 result = to_bits(convert<F32>(__builtin_elementwise_fma(part, slope, convert<F64>(exponent))));
  const I32 is_special = (bits < int32_t{L::kMinNormal}) | (bits >= int32_t{L::kInfinity});
  if (__builtin_expect(any(mask_of(is_special)), false)) {
    result = x < 0.0f ? U32(L::kDefaultNan) : result;
    result = magnitude(x) < int32_t{L::kMinNormal} ? U32(L::kSign | L::kInfinity) : result;
    result = bits == int32_t{L::kInfinity} ? U32(L::kInfinity) : result;
  }
  return detail::with_nans(x, result, mode);
}

template <class Mode>
LOCKSTEP_INLINE F32 sin(F32 x, Mode mode) {
  return detail::sine_or_cosine(x, false, mode);
}
template <class Mode>
LOCKSTEP_INLINE F32 cos(F32 x, Mode mode) {
  return detail::sine_or_cosine(x, true, mode);
}

}  // namespace lockstep::numeric::fast
