// Quotients of unsigned integers as a whole: what compilers make of V_RCP_IFLAG_F32, one Newton step and two
// corrections.
#pragma once

#include "numeric/lanes.h"

namespace lockstep::numeric {

struct IntegerQuotient {
  U32 quotient, rest;
};

// With z the integer that the steps take for 2^32 / d, the estimate is the high half of n * z. It is the
// quotient, or one or two less, if 0 <= 2^32 - z * d <= 2 * d, which a test finds to be so for all d but 0;
// so the two corrections end with the quotient. The host's quotient of doubles is rounded once, and where it
// is no integer it is at least 1 / d off the next one, 2^20 units: what is cut off is the fraction. Of d = 0
// the steps make a reciprocal of 2^32 - 1, and correct the high half of its product with n twice.
LOCKSTEP_INLINE IntegerQuotient integer_quotient(U32 n, U32 d) {
  const F64 exact = __builtin_convertvector(n, F64) / __builtin_convertvector(d, F64);
  // The integer is the low half of its sum with 2^52.
  constexpr double kUnit = 0x1p52;
  const U64 sum = __builtin_bit_cast(U64, __builtin_elementwise_trunc(exact) + kUnit);
  U32 quotient = __builtin_convertvector(sum, U32);
  const U32 of_zero = n + 1 - bits_as<U32>(n == 0);
  quotient = d == 0 ? of_zero : quotient;
  return {quotient, n - quotient * d};
}

}  // namespace lockstep::numeric
