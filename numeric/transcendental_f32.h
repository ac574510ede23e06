// The F32 transcendental functions on chunks, without regard to MODE: NaNs come back as they are. Each gives
// the bits of transcendental_reference.h, which tests prove over all significands (exp2: over all fractions).
#pragma once

#include "numeric/exact.h"
#include "numeric/format.h"
#include "numeric/rows.h"
#include "numeric/transcendental_tables.h"

namespace lockstep::numeric {

namespace detail {

// Half a unit of the result is added, and to `q` what its sum with `k` is rounded to an integer at, as floats
// between 2^23 and 2^24 are.
inline constexpr int kSqrtLift = 3 << 22, kExpLift = 1 << 19;
inline constexpr Rows<32> kRcpScaled = scaled_rows(kRcpRows, 16, 0x1p-14f, 0x1p-29f, 0x1p-47f, {.c = 1 << 5});
inline constexpr Rows<64> kRsqScaled = scaled_rows(kRsqRows, 1, 0x1p-13f, 0x1p-28f, 0x1p-46f);
inline constexpr Rows<32> kSqrtScaled =
    scaled_rows(kSqrtRows, 8, 0x1p-17f, 0x1p-15f, 0x1p-33f, {.c = 1 << 4, .q = kSqrtLift >> 8});
inline constexpr Rows<32> kExpScaled =
    scaled_rows(kExpRows, 1, 0x1p-24f, 0x1p-23f, 0x1p-30f, {.q = kExpLift});

// What RCP and RSQ share: the sum of their terms before the last rounding, in units of 2^-`bits` of the
// result's last place, and in eighths of these. It is right but for some thousand significands, all of which
// are next to a rounding border, and listed.
struct SumChunk {
  I32 units;
  U32 eighths;  // without the bits that are lost to the left
};
// The rules round the quadratic term down to a multiple of `step` units, and borders are such multiples: what
// the other terms have below one changes nothing about where the sum lies.
LOCKSTEP_INLINE SumChunk sum_of_terms(U32 others, F32 quadratic_eighths, uint32_t step) {
  const I32 quadratic = convert<I32>(quadratic_eighths);
  const U32 whole = others & ~(step - 1);
  return {bits_as<I32>(whole + bits_as<U32>(quadratic >> 3)), (whole << 3) + bits_as<U32>(quadratic)};
}
LOCKSTEP_INLINE Mask near_border(SumChunk sum, unsigned bits) {
  return mask_of(bits_as<I32>((sum.eighths + 1) & ((8u << bits) - 1)) < 3);
}
// `correct`: by one unit, where the significand is in the list. A row's first coefficient alone is exact, and
// often a tie, which goes to the even number: so it is with the reciprocals of small integers.
template <class Correct>
LOCKSTEP_INLINE I32 settled(I32 significand, U32 key, Mask doubtful, Correct correct) {
  if (__builtin_expect(any(doubtful), false)) {
    const Mask has_one_term = mask_of(bits_as<I32>((key & 0x3ffff) == 0));
    significand = select(doubtful & has_one_term, significand & ~1, significand);
    const Mask may_be_listed = doubtful & ~has_one_term;
    if (any(may_be_listed)) {
      // Copies, so that nothing else goes through memory.
      const U32 keys = key;
      I32 corrected = significand;
      correct(&keys, bits_from_mask(may_be_listed), &corrected);
      significand = corrected;
    }
  }
  return significand;
}
LOCKSTEP_INLINE SumChunk rcp_sum(U32 key) {
  const RowChunk row = load_rows(kRcpScaled, key >> 18);
  const F32 f = to_float(key & 0x3ffff);
  const F32 g = to_float(key & 0x3fffe);
  const I32 linear = convert<I32>(product_on_grid(row.l, f, 0x1p23f));
  const F32 quadratic = __builtin_elementwise_fma(-row.k, f, row.q) * (g * g);
  return sum_of_terms(bits_as<U32>(row.c - linear), quadratic, 2);
}
LOCKSTEP_INLINE SumChunk rsq_sum(U32 key) {
  const RowChunk row = load_rows(kRsqScaled, key >> 18);
  const F32 f = to_float(key & 0x3ffff);
  const F32 g = to_float(key & 0x3fffe);
  const I32 linear = convert<I32>(product_on_grid(row.l, f, 0x1p23f));
  const F32 quadratic = __builtin_elementwise_fma(-row.k, f, row.q) * (g * g);
  // 32 * c needs 32 bits, so it is the upper part of an unsigned sum.
  return sum_of_terms((bits_as<U32>(row.c) << 5) + 64 - bits_as<U32>(linear), quadratic, 4);
}

// 24 bits of the root of key / 2^23 in [1, 4).
LOCKSTEP_INLINE I32 sqrt_significand(U32 key) {
  const RowChunk row = load_rows(kSqrtScaled, key >> 19);
  const F32 t = to_float(key & 0x7ffff);
  const I32 linear = convert<I32>(product_on_grid(row.l, t, 0x1p22f));
  const F32 inner = row.q - __builtin_elementwise_fma(row.k, t + 0.5f, F32(kSqrtLift * 0x1p-23f));
  const F32 square = square_rounded_down(to_float(key & 0x7fffc), 0x1p-14f);
  const I32 quadratic = convert<I32>(product_on_grid(inner, square, 0x1p23f));
  const I32 sum = row.c + linear + (-quadratic >> 7);
  const I32 rounded = sum >> 5;
  // Nearest even: an exact half was rounded up.
  const I32 tie = ((sum & 31) | (quadratic & 127)) == 0;
  return rounded & ~(tie & 1);
}

struct PowerChunk {
  I32 whole;  // the integer part of the exponent
  I32 high;   // the value in units of 2^-28
  I32 low;    // eight bits more
};
// Arguments from which on, by their size, powers are 1, infinite and, behind it, zero.
inline constexpr int32_t kPowerTiny = 0x33800000, kPowerOverflow = 0x43000000, kPowerUnderflow = 0x42fc0000;
// Of arguments whose power is an ordinary number.
LOCKSTEP_INLINE PowerChunk power_of_two_to(F32 x) {
  const I32 negative = negative_lanes(x);
  const F32 size = bits_as<F32>(__builtin_elementwise_min(magnitude(x), I32(kPowerOverflow)));
  const F32 floor = __builtin_elementwise_trunc(size);
  // Negative arguments are inverted bit by bit, not negated.
  const I32 whole = convert<I32>(floor) ^ negative;
  const U32 fraction = bits_as<U32>((convert<I32>((size - floor) * 0x1p29f) ^ negative) & 0x1fffffff);
  const RowChunk row = load_rows(kExpScaled, fraction >> 24);
  const F32 f = to_float(fraction & 0xffffff);
  const F32 a = to_float((fraction & 0xffffff) >> 6);
  const I32 linear = convert<I32>(product_on_grid(row.l, f, 0x1p22f));
  constexpr float kLift = kExpLift * 0x1p-23f;
  const F32 inner = __builtin_elementwise_fma(row.k, a, row.q) - kLift;
  const F32 square = square_rounded_down(a, 0x1p-12f);
  const I32 quadratic = convert<I32>(product_on_grid(inner, square, 0x1p23f));
  return {whole, row.c + linear + (quadratic >> 8), quadratic & 255};
}
LOCKSTEP_INLINE F32 power_result(F32 x, PowerChunk power, I32 rounded) {
  const I32 size = magnitude(x);
  U32 result = bits_as<U32>(((power.whole + 126) << 23) + rounded);
  const I32 special = bits_as<U32>(size) - uint32_t{kPowerTiny} > uint32_t{kPowerUnderflow - kPowerTiny};
  if (__builtin_expect(any(mask_of(special)), false)) {
    const I32 negative = negative_lanes(x);
    const U32 extreme = negative ? U32(0) : U32(Layout<F32>::kInfinity);
    result = size >= (negative ? I32(kPowerUnderflow + 1) : I32(kPowerOverflow)) ? extreme : result;
    result = size < kPowerTiny ? U32(Layout<F32>::kOne) : result;
    result = nan_lanes(x) ? to_bits(x) : result;
  }
  return bits_as<F32>(result);
}

}  // namespace detail

// `quiet` is or-ed to the bits of NaNs: Layout<F32>::kQuiet, or 0 where MODE.IEEE is clear.
LOCKSTEP_INLINE F32 rcp_f32(F32 x, uint32_t quiet) {
  using L = Layout<F32>;
  const U32 size = to_bits(x) & L::kMagnitude;
  const U32 key = size & 0x7fffff;
  const detail::SumChunk sum = detail::rcp_sum(key);
  const I32 significand =
      detail::settled(sum.units >> 6, key, detail::near_border(sum, 6), lockstep_correct_rcp);
  const I32 result = significand + (0x3e800000 + (127 << 23)) - bits_as<I32>(size & L::kInfinity);
  // Denormal results are zeros, which also gives the result for infinities.
  const I32 normal = result < int32_t{L::kMinNormal} ? I32(0) : result;
  U32 bits = bits_as<U32>(normal) | (to_bits(x) & L::kSign);
  const I32 special = size - L::kMinNormal >= L::kInfinity - L::kMinNormal;
  if (__builtin_expect(any(mask_of(special)), false)) {
    bits = size < L::kMinNormal ? (to_bits(x) & L::kSign) | L::kInfinity : bits;
    bits = size > L::kInfinity ? to_bits(x) | quiet : bits;
  }
  return bits_as<F32>(bits);
}

LOCKSTEP_INLINE F32 rsq_f32(F32 x, uint32_t quiet) {
  using L = Layout<F32>;
  const U32 size = to_bits(x) & L::kMagnitude;
  // The exponent's parity and the fraction; odd encoded exponents are even ones.
  const U32 key = (size & 0xffffff) ^ 0x800000;
  const detail::SumChunk sum = detail::rsq_sum(key);
  const I32 significand = detail::settled(bits_as<I32>(bits_as<U32>(sum.units) >> 7), key,
                                          detail::near_border(sum, 7), lockstep_correct_rsq);
  const I32 half_exponent = ((bits_as<I32>(size >> 23) - 127) >> 1) << 23;
  U32 bits = bits_as<U32>(significand + 0x3e800000 - half_exponent);
  const I32 special = to_bits(x) - L::kMinNormal >= L::kInfinity - L::kMinNormal;
  if (__builtin_expect(any(mask_of(special)), false)) {
    bits = negative_lanes(x) ? U32(L::kDefaultNan) : bits;
    bits = to_bits(x) == L::kInfinity ? U32(0) : bits;
    bits = size < L::kMinNormal ? (to_bits(x) & L::kSign) | L::kInfinity : bits;
    bits = size > L::kInfinity ? to_bits(x) | quiet : bits;
  }
  return bits_as<F32>(bits);
}

LOCKSTEP_INLINE F32 sqrt_f32(F32 x, uint32_t quiet) {
  using L = Layout<F32>;
  const U32 size = to_bits(x) & L::kMagnitude;
  const U32 key = (size & 0xffffff) ^ 0x800000;
  const I32 significand = detail::sqrt_significand(key);
  const I32 half_exponent = (bits_as<I32>(size >> 23) - 127) >> 1;
  U32 bits = bits_as<U32>(((half_exponent + 126) << 23) + significand);
  const I32 special = to_bits(x) - L::kMinNormal >= L::kInfinity - L::kMinNormal;
  if (__builtin_expect(any(mask_of(special)), false)) {
    bits = negative_lanes(x) ? U32(L::kDefaultNan) : bits;
    bits = size < L::kMinNormal ? to_bits(x) & L::kSign : bits;
    bits = to_bits(x) == L::kInfinity ? U32(L::kInfinity) : bits;
    bits = size > L::kInfinity ? to_bits(x) | quiet : bits;
  }
  return bits_as<F32>(bits);
}

LOCKSTEP_INLINE F32 exp2_f32(F32 x) {
  const detail::PowerChunk power = detail::power_of_two_to(x);
  // Of the value / 2^13 to nearest even: what `low` has makes more than a half of a half.
  const I32 lifts = ((power.high >> 5) | (power.low > 0)) & 1;
  return detail::power_result(x, power, (power.high + 15 + lifts) >> 5);
}
LOCKSTEP_INLINE F32 exp2_to_odd_f32(F32 x) {
  const detail::PowerChunk power = detail::power_of_two_to(x);
  const I32 sticky = ((power.high & 31) | power.low) != 0;
  return detail::power_result(x, power, (power.high >> 5) | (sticky & 1));
}

}  // namespace lockstep::numeric
