// The F32 transcendental functions on chunks, without regard to MODE: NaNs come back as they are. Each gives
// the bits of transcendental_reference.h, which tests prove over all significands (exp2: over all fractions).
#pragma once

#include "numeric/exact.h"
#include "numeric/format.h"
#include "numeric/rows.h"
#include "numeric/transcendental_tables.h"

namespace lockstep::numeric {

namespace detail {

// A significand is the sum of a row's terms, rounded down. Here the sum is in units of 2^-9 of the result's
// last place (2^-8 for powers), and half of that place is in `c`. The rules round the linear term to a
// coarser grid, and that is done exactly. The quadratic one is left as floats have it: what it differs by
// from the captured results, and what the rules lose in it, changes the significand only where the sum is
// next to a multiple of the last place. There the result is looked up in a list, or computed by the rules. A
// little that is added to `k` makes the sums that this concerns one unit in 512, or two: tests go through all
// significands.

// The number's bits are an integer, this many and the term: floats in between are integers.
inline constexpr float kQuadraticBase = 0x1p23f, kNegativeQuadraticBase = 0x1p24f;
inline constexpr uint32_t kQuadraticBits = 0x4b000000, kNegativeQuadraticBits = 0x4b800000;

// Sums without the bits that are lost to the left, and without the significand that is the least, 2^23 + 1 or
// 2^23. RCP and RSQ count from one unit below, so that the sums in doubt are 0 and 1.
inline constexpr uint32_t kLeastSignificand = 0x800001;
inline constexpr uint32_t kBelowReciprocals = 256 - 512 + 1 - kQuadraticBits;
inline constexpr Rows<32> kRcpScaled =
    scaled_rows(kRcpRows, 128, -0x1p-11f, 0x1p-29f, -0x1p-47f, {.c = kBelowReciprocals, .k = 0x1p-9f});
// The lowest bit of the exponent chooses between halves of the rows; encoded exponents have it inverted.
inline constexpr Rows<64> kRsqScaled =
    scaled_rows(kRsqRows, 128, -0x1p-11f, 0x1p-29f, -0x1p-47f, {.c = kBelowReciprocals}, 32);
inline constexpr Rows<32> kSqrtScaled = scaled_rows(kSqrtRows, 128, 0x1p-13f, -0x1p-32f, 0x1p-50f,
                                                    {.c = 256 - kNegativeQuadraticBits, .k = 0x1p-9f}, 16);
inline constexpr Rows<32> kExpScaled =
    scaled_rows(kExpRows, 8, 0x1p-21f, 0x1p-52f, 0x1p-65f, {.c = 128 + (1u << 31) - kQuadraticBits});

// (q + k * f) * g * g, the bits of a float that has `base` added.
LOCKSTEP_INLINE I32 quadratic_term(const RowChunk& row, F32 f, F32 g, float base) {
  const F32 inner = __builtin_elementwise_fma(row.k, f, row.q);
  return bits_as<I32>(__builtin_elementwise_fma(inner, g * g, F32(base)));
}
// The term is taken off. Half a unit less makes its rounding one down.
LOCKSTEP_INLINE U32 reciprocal_sum(const RowChunk& row, U32 bits, float grid) {
  const F32 f = to_float(bits & 0x3ffff);
  const F32 g = to_float(bits & 0x3fffe);
  const I32 linear = convert<I32>(negative_product_on_grid(row.l, f, grid)) & ~15;
  return bits_as<U32>(row.c + linear + quadratic_term(row, f, g, kQuadraticBase - 0.5f));
}
LOCKSTEP_INLINE U32 rcp_sum(U32 bits) {
  return reciprocal_sum(load_rows_by_bits<18>(kRcpScaled, bits), bits, 0x1p26f);
}
LOCKSTEP_INLINE U32 rsq_sum(U32 bits) {
  return reciprocal_sum(load_rows_by_bits<18>(kRsqScaled, bits), bits, 0x1p25f);
}
// A row's first coefficient alone is exact, and often a tie: the sum then is a multiple of the last place,
// and the number next to it that is even is the result. So it is with the reciprocals of small integers,
// which come in whole chunks. Two units make the sum one that is in no doubt.
LOCKSTEP_INLINE U32 ties_to_even(U32 sum, U32 bits) {
  return (bits & 0x3ffff) == 0 ? sum - 2 + ((sum >> 7) & 4) : sum;
}
LOCKSTEP_INLINE U32 sqrt_sum(U32 bits) {
  const RowChunk row = load_rows_by_bits<19>(kSqrtScaled, bits);
  const F32 f = to_float(bits & 0x7ffff);
  const F32 g = to_float(bits & 0x7fffc);
  const I32 linear = convert<I32>(product_on_grid(row.l, f, 0x1p26f)) & ~15;
  return bits_as<U32>(row.c + linear + quadratic_term(row, f, g, kNegativeQuadraticBase));
}
LOCKSTEP_INLINE U32 exp_sum(U32 fraction) {
  const RowChunk row = load_rows_by_bits<24>(kExpScaled, fraction);
  const F32 f = to_float(fraction & 0xffffff);
  const F32 g = to_float(fraction & 0xffffc0);
  const I32 linear = convert<I32>(product_on_grid(row.l, f, 0x1p25f)) & ~7;
  return bits_as<U32>(row.c + linear + quadratic_term(row, g, g, kQuadraticBase));
}

// About lanes whose `small` number, of which the highest bit is clear, is zero, or whose signed `value` is
// not between `least` and `most`.
class Doubt {
 public:
  LOCKSTEP_INLINE Doubt(U32 small, I32 value, uint32_t least, uint32_t most)
      : small_(small), beyond_least_(bits_as<U32>(value) - least), range_(most - least) {}

  // Where comparisons would be packed to one bit each, lanes are negative that are in doubt: where a
  // difference overflows the other one is negative.
  LOCKSTEP_INLINE bool is_anywhere() const {
    if (host_has_masks())
      return __builtin_expect(any(mask_of((small_ == 0) | (beyond_least_ > range_))), false);
    const U32 either = (small_ - 1) | beyond_least_ | (range_ - beyond_least_);
    return __builtin_expect(__builtin_reduce_or(either & 0x80000000) != 0, false);
  }
  // Where the value is right and the number is not.
  LOCKSTEP_INLINE Mask at_border() const { return mask_of((small_ == 0) & (beyond_least_ <= range_)); }

 private:
  U32 small_, beyond_least_;
  uint32_t range_;
};

// Computes results by the rules where sums are next to a rounding border: few lanes, in a function out of
// line. It gets copies, so that nothing else goes through memory.
template <class Function>
LOCKSTEP_INLINE U32 settled(F32 x, U32 bits, Mask at_border, Function settle) {
  const uint32_t lanes = bits_from_mask(at_border);
  if (lanes == 0) return bits;
  const F32 arguments = x;
  U32 results = bits;
  settle(reinterpret_cast<const uint32_t*>(&arguments), lanes, reinterpret_cast<uint32_t*>(&results));
  return results;
}

struct PowerChunk {
  I32 whole;  // the integer part of the exponent
  U32 sum;
};
// Arguments from which on, by their size, powers are 1, infinite and, behind it, zero.
inline constexpr int32_t kPowerTiny = 0x33800000, kPowerOverflow = 0x43000000, kPowerUnderflow = 0x42fc0000;
// Of arguments whose power is an ordinary number.
LOCKSTEP_INLINE PowerChunk power_of_two_to(F32 x) {
  const I32 negative = negative_lanes(x);
  const F32 size = bits_as<F32>(magnitude(x));
  const F32 floor = __builtin_elementwise_trunc(size);
  // Negative arguments are inverted bit by bit, not negated.
  const I32 whole = convert<I32>(floor) ^ negative;
  const I32 fraction = (convert<I32>((size - floor) * 0x1p29f) ^ negative) & 0x1fffffff;
  return {whole, exp_sum(bits_as<U32>(fraction))};
}
// Where a power is no ordinary number, as some negative ones are, or its sum is in doubt.
LOCKSTEP_INLINE bool any_power_is_in_doubt(U32 sum, F32 x) {
  return Doubt(sum & 255, magnitude(x), kPowerTiny, kPowerUnderflow).is_anywhere();
}
LOCKSTEP_INLINE Mask powers_at_border(U32 sum, F32 x) {
  return Doubt(sum & 255, magnitude(x), kPowerTiny, kPowerOverflow - 1).at_border();
}
LOCKSTEP_INLINE U32 power_bits(I32 whole, U32 rounded) {
  return bits_as<U32>((whole + int32_t{Layout<F32>::kBias}) << Layout<F32>::kFraction) + rounded;
}

// Sign and exponent are inverted, and what is above the least significand has no bit in common with them.
LOCKSTEP_INLINE U32 rcp_bits(F32 x, U32 above_least) {
  using L = Layout<F32>;
  constexpr uint32_t kUpper = L::kSign | L::kInfinity;
  return (above_least | (~to_bits(x) & kUpper)) + (kLeastSignificand + 0x3e800000 + (127u << 23) - kUpper);
}
LOCKSTEP_INLINE U32 half_exponent(F32 x) {
  return ((to_bits(x) + Layout<F32>::kMinNormal) >> 1) & Layout<F32>::kInfinity;
}
LOCKSTEP_INLINE U32 rsq_bits(F32 x, U32 above_least) {
  return above_least - half_exponent(x) + (kLeastSignificand + 0x3e800000 + (64u << 23));
}
// The three last significands below 4 are the only ones with a result of 2^23.
inline constexpr uint32_t kLastOfRsq = 0x7ffffc;
// The greatest number whose reciprocal is normal; denormal results are zeros.
inline constexpr uint32_t kGreatestOfRcp = 0x7e800000;

// What is no ordinary number. `quiet` is or-ed to the bits of NaNs: Layout<F32>::kQuiet, or 0 where MODE.IEEE
// is clear.
LOCKSTEP_INLINE U32 special_reciprocals(F32 x, U32 bits, uint32_t quiet) {
  using L = Layout<F32>;
  const U32 size = to_bits(x) & L::kMagnitude, sign = to_bits(x) & L::kSign;
  bits = size > kGreatestOfRcp ? sign : bits;
  bits = size < L::kMinNormal ? sign | L::kInfinity : bits;
  return size > L::kInfinity ? to_bits(x) | quiet : bits;
}
// Of roots and their reciprocals, which are `of_zero` with the argument's sign and `of_infinity`.
LOCKSTEP_INLINE U32 special_roots(F32 x, U32 bits, uint32_t quiet, uint32_t of_zero, uint32_t of_infinity) {
  using L = Layout<F32>;
  const U32 size = to_bits(x) & L::kMagnitude, sign = to_bits(x) & L::kSign;
  bits = sign != 0 ? U32(L::kDefaultNan) : bits;
  bits = to_bits(x) == L::kInfinity ? U32(of_infinity) : bits;
  bits = size < L::kMinNormal ? sign | of_zero : bits;
  return size > L::kInfinity ? to_bits(x) | quiet : bits;
}
LOCKSTEP_INLINE U32 special_powers(F32 x, U32 bits) {
  const I32 size = magnitude(x), is_negative = negative_lanes(x);
  const I32 least_extreme = is_negative ? I32(kPowerUnderflow + 1) : I32(kPowerOverflow);
  bits = size >= least_extreme ? (is_negative ? U32(0) : U32(Layout<F32>::kInfinity)) : bits;
  bits = size < kPowerTiny ? U32(Layout<F32>::kOne) : bits;
  return nan_lanes(x) ? to_bits(x) : bits;
}

}  // namespace detail

// Results are put right in lanes that may be next to a rounding border, and in those that are no ordinary
// numbers. `quiet` as above.
LOCKSTEP_INLINE F32 rcp_f32(F32 x, uint32_t quiet) {
  U32 sum = detail::rcp_sum(to_bits(x));
  U32 bits = detail::rcp_bits(x, sum >> 9);
  const auto doubt = [&]() __attribute__((always_inline)) {
    return detail::Doubt(sum & 510, magnitude(x), Layout<F32>::kMinNormal, detail::kGreatestOfRcp);
  };
  if (doubt().is_anywhere()) {
    sum = detail::ties_to_even(sum, to_bits(x));
    bits = detail::rcp_bits(x, sum >> 9);
    if (doubt().is_anywhere()) {
      bits = detail::settled(x, bits, doubt().at_border(), lockstep_settle_rcp);
      bits = detail::special_reciprocals(x, bits, quiet);
    }
  }
  return bits_as<F32>(bits);
}

LOCKSTEP_INLINE F32 rsq_f32(F32 x, uint32_t quiet) {
  using L = Layout<F32>;
  U32 sum = detail::rsq_sum(to_bits(x));
  U32 bits = detail::rsq_bits(x, sum >> 9);
  const U32 last = ~to_bits(x) & detail::kLastOfRsq;
  const auto doubt = [&]() __attribute__((always_inline)) {
    return detail::Doubt(__builtin_elementwise_min(sum & 510, last), bits_as<I32>(x), L::kMinNormal,
                         L::kInfinity - 1);
  };
  if (doubt().is_anywhere()) {
    sum = detail::ties_to_even(sum, to_bits(x));
    bits = detail::rsq_bits(x, sum >> 9);
    if (doubt().is_anywhere()) {
      bits = detail::settled(x, bits, doubt().at_border(), lockstep_settle_rsq);
      bits = detail::special_roots(x, bits, quiet, L::kInfinity, 0);
    }
  }
  return bits_as<F32>(bits);
}

LOCKSTEP_INLINE F32 sqrt_f32(F32 x, uint32_t quiet) {
  using L = Layout<F32>;
  const U32 sum = detail::sqrt_sum(to_bits(x));
  U32 bits = (sum >> 9) + detail::half_exponent(x) + 0x1f800000;
  const detail::Doubt doubt(sum & 511, bits_as<I32>(x), L::kMinNormal, L::kInfinity - 1);
  if (doubt.is_anywhere()) {
    bits = detail::settled(x, bits, doubt.at_border(), lockstep_settle_sqrt);
    bits = detail::special_roots(x, bits, quiet, 0, L::kInfinity);
  }
  return bits_as<F32>(bits);
}

// NaNs come back as they are.
LOCKSTEP_INLINE F32 exp2_f32(F32 x) {
  const detail::PowerChunk power = detail::power_of_two_to(x);
  U32 bits = detail::power_bits(power.whole, power.sum >> 8);
  if (detail::any_power_is_in_doubt(power.sum, x)) {
    bits = detail::settled(x, bits, detail::powers_at_border(power.sum, x), lockstep_settle_exp2);
    bits = detail::special_powers(x, bits);
  }
  return bits_as<F32>(bits);
}
// Rounded down, and to odd where something is lost.
LOCKSTEP_INLINE F32 exp2_to_odd_f32(F32 x) {
  const detail::PowerChunk power = detail::power_of_two_to(x);
  const U32 sum = power.sum - 128;
  U32 bits = detail::power_bits(power.whole, (sum >> 8) | 1);
  if (detail::any_power_is_in_doubt(sum, x)) {
    bits = detail::settled(x, bits, detail::powers_at_border(sum, x), lockstep_settle_exp2_to_odd);
    bits = detail::special_powers(x, bits);
  }
  return bits_as<F32>(bits);
}

}  // namespace lockstep::numeric
