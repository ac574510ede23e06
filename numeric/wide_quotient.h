// Quotients of unsigned 64-bit integers as a whole: what compilers make of V_RCP_F32, two steps of Newton's
// in integers and two corrections.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>

#include "numeric/lanes.h"

namespace lockstep::numeric {

struct WideQuotient {
  U64 quotient, rest;
};

// With z the integer that the steps take for 2^64 / d, and e = 2^64 - z * d, a step of Newton's leaves
// e * e / 2^64 and less than d. The first z is a float's product, of which V_RCP_F32's error, below 0.89
// units (docs/arithmetic.md), three roundings and the scale 2^64 - 2^42 leave e above 0 and below 2^43 + d.
// So after two steps 0 <= e <= 2 * d, the high half of n * z is the quotient or one or two less, and the
// corrections end with the quotient. Of d = 0 the steps make z = 2^64 - 2^32, take nothing off n and add 2.
//
// Here 1 / d is taken too small by 2^-50, so that no estimate exceeds what it is of after its four roundings,
// and half a unit is taken off before it is rounded to an integer, which is in the low bits of its sum with
// 3 * 2^51. The first estimate leaves n less than d + 2^15. That is less than 2^32 where more than d may be
// left, or less than 2^32 + 2^15 with a d that is more than half of it: the second estimate is of the low
// half, and leaves less than 2 * d.
LOCKSTEP_INLINE WideQuotient wide_quotient(U64 n, U64 d) {
  constexpr double kUnits = 0x1.8p52, kUnit = 0x1p52;
  constexpr uint64_t kLow = 0xffffffff;
  const U64 units = bits_as<U64>(F64(kUnits));
  const F64 inverse = (1 - 0x1p-50) / convert<F64>(d);
  // Hosts convert no numbers above 2^31 as lanes: multiples of 2^32, and the rest, which may be negative.
  const F64 estimate = __builtin_elementwise_fma(convert<F64>(n), inverse, F64(-0.5));
  const F64 high = __builtin_elementwise_fma(estimate, F64(0x1p-32), F64(kUnits));
  const F64 low = __builtin_elementwise_fma(high - kUnits, F64(-0x1p32), estimate) + kUnits;
  U64 quotient = (bits_as<U64>(high) << 32) + (bits_as<U64>(low) - units);
  U64 rest = n - quotient * d;
  const F64 rest_low = bits_as<F64>((rest & kLow) | bits_as<U64>(F64(kUnit))) - kUnit;
  const F64 more = __builtin_elementwise_fma(rest_low, inverse, F64(-0.5)) + kUnits;
  const U64 few = bits_as<U64>(more) ^ units;
  quotient += few;
  // Of a d that has a high half it is none.
  rest -= (few & kLow) * (d & kLow);
  const U64 is_less = bits_as<U64>(rest >= d);
  quotient -= is_less;
  rest -= is_less & d;
  const U64 is_zero = bits_as<U64>(d == 0);
  if (__builtin_expect(__builtin_reduce_or(is_zero) != 0, 0)) {
    const U64 of_zero = n + 2 - (n >> 32) + bits_as<U64>((n << 32) != 0);
    quotient = (is_zero & of_zero) | (quotient & ~is_zero);
    rest = (is_zero & n) | (rest & ~is_zero);
  }
  return {quotient, rest};
}

// Of a constant compilers leave the reciprocal, and the corrections. Of z = 2^64 / d, rounded down, or one
// less, 2^64 - z * d is less than 2 * d, so the high half of n * z is the quotient or one or two less, and
// the corrections end with the quotient. 0 if the divisor has no such z.
constexpr uint64_t greatest_wide_reciprocal(uint64_t d) {
  if ((d & (d - 1)) == 0) return 0;
  return ~uint64_t{0} / d;
}

// The quotient is the high half of a product and a shift: n / d = (n >> before) * (factor / 2^64) >> after,
// where factor is 2^64 larger if it is long.
struct WideFactor {
  uint64_t factor = 0;
  unsigned before = 0, after = 0;
  bool is_long = false;
};

// With M = 2^(64 + s) / d, rounded up, the error M * d - 2^(64 + s) times n must stay below 2^(64 + s), so it
// may be 2^(s + b) for n of 64 - b bits. An even divisor leaves so many of its low bits; with s such that 2^s
// is next above d an M of 65 bits always does.
constexpr WideFactor wide_factor(uint64_t d) {
  using Wide = unsigned __int128;
  const auto factor_of = [](uint64_t odd, unsigned s) { return ((Wide{1} << (64 + s)) + odd - 1) / odd; };
  const auto even = static_cast<unsigned>(std::countr_zero(d));
  const auto bits = static_cast<unsigned>(std::bit_width(d));  // no power of two
  for (const unsigned before : {0u, even}) {
    const uint64_t odd = d >> before;
    for (unsigned s = 0; s + before < bits; ++s) {
      const Wide factor = factor_of(odd, s);
      if (factor >> 64 != 0) break;
      if (factor * odd - (Wide{1} << (64 + s)) <= Wide{1} << (s + before))
        return {static_cast<uint64_t>(factor), before, s, false};
    }
  }
  // 2^(64 + bits) may be 2^128.
  const Wide above = (Wide{1} << bits) - d;
  return {static_cast<uint64_t>((above << 64) / d) + 1, 0, bits, true};
}

namespace detail {

constexpr uint64_t kLowWord = 0xffffffff;

LOCKSTEP_INLINE U64 high_product(U64 a, U64 b) {
  const U64 a_low = a & kLowWord, a_high = a >> 32, b_low = b & kLowWord, b_high = b >> 32;
  const U64 first = a_low * b_high + (a_low * b_low >> 32);
  const U64 second = a_high * b_low + (first & kLowWord);
  return a_high * b_high + (first >> 32) + (second >> 32);
}
LOCKSTEP_INLINE U64 low_product(U64 a, U64 b) {
  const U64 a_low = a & kLowWord, b_low = b & kLowWord;
  return a_low * b_low + (((a >> 32) * b_low + a_low * (b >> 32)) << 32);
}

}  // namespace detail

// `before` and `after` as shifts, `is_long` as a mask. Constants, of which nothing else is left in the code.
LOCKSTEP_INLINE WideQuotient wide_quotient_by(U64 n, U64 d, U64 factor, U64 before, U64 after, U64 is_long) {
  const U64 product = detail::high_product(n >> before, factor);
  const U64 whole = (product & ~is_long) | ((((n - product) >> 1) + product) & is_long);
  const U64 quotient = whole >> (after + is_long);
  return {quotient, n - detail::low_product(quotient, d)};
}

// Of a divisor that all lanes have the reciprocal z = (2^64 - 1) / d, rounded down, is one division. As
// 2^64 - z * d is d at most, the high half of n * z is the quotient or one less.
LOCKSTEP_INLINE WideQuotient wide_quotient_with(U64 n, U64 d, U64 reciprocal) {
  U64 quotient = detail::high_product(n, reciprocal);
  U64 rest = n - detail::low_product(quotient, d);
  const U64 is_less = bits_as<U64>(rest >= d);
  quotient -= is_less;
  rest -= is_less & d;
  return {quotient, rest};
}

// How much less than that the first integer may be which compilers take for it: e, which is above, is at most
// 2^43 + 2 * d then. A step of Newton's leaves e * e / 2^64 and less than d (above). Where d is up to 2^42
// that is less than 2^24 + d, and after the second step less than 2 * d. Where it is up to 2^60, e is less
// than 4 * d before the first step, 2 * d before the second and behind it. Above, the integer is one less at
// most: e is up to 2 * d, and stays so.
constexpr uint64_t kWideEstimateError = uint64_t{1} << 43;  // divided by d, and one

}  // namespace lockstep::numeric
