// Quotients of floats as compilers make them where an error of 2.5 units in the last place is allowed: both
// operands are taken apart into fraction and exponent, the numerator's fraction is multiplied by the
// reciprocal of the denominator's, and V_LDEXP_F32 puts the difference of the exponents back, in the default
// float mode.
#pragma once

#include "numeric/exact.h"
#include "numeric/format.h"

// By the instructions' steps. `reciprocal_first`: of two NaNs the denominator's is the result.
extern "C" LOCKSTEP_COLD void lockstep_exact_ratio_f32(const lockstep::F32* numerator,
                                                       const lockstep::F32* denominator,
                                                       bool reciprocal_first, lockstep::F32* result);
// Of a numerator and the reciprocal of a constant, of which the instructions have fraction and exponent.
extern "C" LOCKSTEP_COLD void lockstep_exact_ratio_of_constant_f32(const lockstep::F32* numerator,
                                                                   const lockstep::F32* reciprocal,
                                                                   lockstep::F32* result);

namespace lockstep::numeric {

namespace detail {

// Whether the product of the numerator with a reciprocal is what the steps give. It is rounded as that of the
// fractions, if it is normal (what is rounded up to the least normal number is not, before), and scaling that
// one changes no bit. A numerator of zero gives zero, whatever its exponent is.
LOCKSTEP_INLINE U32 beyond_least_normal(F32 x) {
  return (to_bits(x) & Layout<F32>::kMagnitude) - (Layout<F32>::kMinNormal + 1);
}
LOCKSTEP_INLINE bool any_is_not_normal(U32 beyond_least) {
  using L = Layout<F32>;
  return __builtin_expect(any(mask_of(beyond_least >= L::kInfinity - L::kMinNormal - 1)), false);
}

}  // namespace detail

// `reciprocal`: what V_RCP_F32 gives for the denominator. Where that is a normal number so is the
// denominator, and their fractions' are the same but for the exponents: V_RCP_F32 looks at the significand
// alone. It gives no denormal numbers, so that it has given a normal one where the product is normal.
template <bool reciprocal_first>
LOCKSTEP_INLINE F32 ratio(F32 numerator, F32 denominator, F32 reciprocal) {
  const F32 product = numerator * reciprocal;
  if (!detail::any_is_not_normal(detail::beyond_least_normal(numerator == 0.0f ? reciprocal : product)))
    return product;
  // Copies, so that nothing else goes through memory.
  const F32 n = numerator, d = denominator;
  F32 exact;
  lockstep_exact_ratio_f32(&n, &d, reciprocal_first, &exact);
  return exact;
}

// `reciprocal`: a normal number.
LOCKSTEP_INLINE F32 ratio_of_constant(F32 numerator, F32 reciprocal) {
  const F32 product = numerator * reciprocal;
  if (!detail::any_is_not_normal(detail::beyond_least_normal(numerator == 0.0f ? reciprocal : product)))
    return product;
  const F32 n = numerator, r = reciprocal;
  F32 exact;
  lockstep_exact_ratio_of_constant_f32(&n, &r, &exact);
  return exact;
}

}  // namespace lockstep::numeric
