// Quotients as a whole: what compilers make of V_DIV_SCALE, V_RCP, fused multiply-adds, V_DIV_FMAS and
// V_DIV_FIXUP, in the default float mode.
#pragma once

#include "numeric/division.h"

// By the instructions' steps where the host may round otherwise.
extern "C" LOCKSTEP_COLD void lockstep_exact_quotient_f32(const lockstep::F32* numerator,
                                                          const lockstep::F32* denominator,
                                                          lockstep::F32* result);
extern "C" LOCKSTEP_COLD void lockstep_exact_quotient_f64(const lockstep::F64* numerator,
                                                          const lockstep::F64* denominator,
                                                          lockstep::F64* result);

namespace lockstep::numeric {

// The steps end with the quotient as the host rounds it, too, if it is of moderate size:
// - V_DIV_SCALE multiplies both operands by the same power of two, so that no step overflows or loses bits.
// - The estimate r of 1 / d becomes the nearest number to it. For F64 it is that from the begin, and stays
// so:
//   with 1 <= d < 2 and u = 2^-53, e = 1 - d * r is at most d * u / 2, and r * (1 + e) is off by about
//   r * e * e < u * u / d, nearer than any midpoint of two numbers can be to 1 / d. For F32 a test tries all
//   d.
// - The product q of n and r is less than two units off, and next to the quotient where that is near a
//   midpoint; so n - d * q has no error. q + (n - d * q) * r then is so near to n / d that no midpoint is in
//   between (Markstein, Computation of elementary functions on the IBM RISC System/6000 processor, 1990).
// - V_DIV_FMAS scales nothing back, and V_DIV_FIXUP changes nothing.
// Smaller quotients are denormal or may be: they are rounded once, but from what is next to them.
template <class Float>
LOCKSTEP_INLINE Float quotient(Float numerator, Float denominator) {
  using L = Layout<Float>;
  using Element = typename L::Word;
  const Float result = numerator / denominator;
  // From exponents that differ by kHuge the quotient is scaled. Those of denormal operands are encoded as 0.
  constexpr int kReach = detail::DivisionLimits<Float>::kHuge - L::kFraction - 4;
  constexpr Element kLeast = Element{L::kBias - kReach} << L::kFraction,
                    kCount = Element{2 * kReach} << L::kFraction;
  const auto extreme = (to_bits(result) & L::kMagnitude) - kLeast >= kCount;
  if (__builtin_expect(any(mask_of(extreme)), false)) {
    // Copies, so that nothing else goes through memory.
    const Float n = numerator, d = denominator;
    Float exact;
    if constexpr (sizeof(Float) == sizeof(F64))
      lockstep_exact_quotient_f64(&n, &d, &exact);
    else
      lockstep_exact_quotient_f32(&n, &d, &exact);
    return exact;
  }
  return result;
}

}  // namespace lockstep::numeric
