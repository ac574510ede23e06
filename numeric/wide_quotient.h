// Quotients of unsigned 64-bit integers as a whole: what compilers make of V_RCP_F32, two steps of Newton's
// in integers and two corrections.
#pragma once

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

}  // namespace lockstep::numeric
