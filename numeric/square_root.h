// Square roots as a whole, in the default float mode: what compilers make of V_RSQ_F64, multiplications and
// fused multiply-adds, or of V_SQRT_F32 and its neighbours. What they do about very small numbers, zeros and
// infinities is before and behind these steps.
#pragma once

#include "numeric/exact.h"
#include "numeric/format.h"

// By the instructions' steps where the host may give something else.
extern "C" LOCKSTEP_COLD void lockstep_exact_square_root_f32(const lockstep::F32* x, lockstep::F32* result);
extern "C" LOCKSTEP_COLD void lockstep_exact_square_root_f64(const lockstep::F64* x, lockstep::F64* result);

namespace lockstep::numeric {

// The steps end with the root as the host rounds it, too. Each of the last three, g + (x - g * g) * h, begins
// with a g that is off by half a unit and next to nothing, so that x - g * g has no error, and with an h that
// is 1 / (2 * root) but for 2^-53 of it. What is rounded then is off by less than 0.76 * 2^-53 units. Counted
// so that the root is between 2^52 and 2^53, x is a multiple of 2^52, and for a midpoint m of two numbers x -
// m * m is an odd number of quarters: -1 for x = 2^104 + 2^52 and x = 2^106 - 2^53, which a test tries, and
// else 7 or more, for k * (k + 1) + 1 and - 1 are odd. The root is x - m * m divided by nearly 2 * root away
// from m, which is more than the error.
LOCKSTEP_INLINE F64 square_root(F64 x) {
  using L = Layout<F64>;
  constexpr uint64_t kLeast = uint64_t{L::kBias - 767} << L::kFraction, kCount = L::kInfinity - kLeast;
  const auto extreme = to_bits(x) - kLeast >= kCount;
  if (__builtin_expect(any(mask_of(extreme)), false)) {
    // Copies, so that nothing else goes through memory.
    const F64 operand = x;
    F64 result;
    lockstep_exact_square_root_f64(&operand, &result);
    return result;
  }
  return __builtin_elementwise_sqrt(x);
}

// With what is before and behind these steps: numbers below 2^-767 times 2^256, and their roots times 2^-128,
// which changes no bit of them; zeros and infinity as they are. For these the reason above holds from 2^-818
// on, the least of them: x - g * g is a multiple of 2^-922. Of NaNs and negative numbers both have the same
// NaN, whose sign the steps change twice.
LOCKSTEP_INLINE F64 whole_square_root(F64 x) {
  return __builtin_elementwise_sqrt(x);
}

// Of V_SQRT_F32's result s the steps take the neighbour s - u if x <= s * (s - u), and s + u if x > s * (s +
// u). Between s * (s - u) and (s - u / 2)^2 there is no float, so that this is the root as the host rounds
// it, if it is one of the three: a test tries all significands. From 2^-96 on, which compilers scale numbers
// to, what is left of x has no bits below the least denormal. Zeros, infinities, NaNs and negative numbers
// have neighbours of which no product compares so, and what V_SQRT_F32 makes of them is the host's, too.
LOCKSTEP_INLINE F32 square_root(F32 x) {
  constexpr uint32_t kLeast = uint32_t{Layout<F32>::kBias - 96} << Layout<F32>::kFraction;
  const I32 extreme = to_bits(abs(x)) - 1 < kLeast - 1;
  if (__builtin_expect(any(mask_of(extreme)), false)) {
    // Copies, so that nothing else goes through memory.
    const F32 operand = x;
    F32 result;
    lockstep_exact_square_root_f32(&operand, &result);
    return result;
  }
  return __builtin_elementwise_sqrt(x);
}

}  // namespace lockstep::numeric
