// What code for hosts with AVX-512 asks: whether this is such a host. Such hosts have registers for masks,
// look numbers up in registers, scale by powers of two, round as an instruction says, and have minimum and
// maximum as IEEE 754-2008 has them.
#pragma once

#include "numeric/lanes.h"

// Bitcode is for hosts that are not known when it is made: whoever has it generated says which way it takes.
#ifdef LOCKSTEP_HOST_IS_OPEN
extern "C" __attribute__((const)) bool lockstep_host_has_masks();
#endif

namespace lockstep::numeric::detail {

#ifdef LOCKSTEP_HOST_IS_OPEN
LOCKSTEP_INLINE bool host_has_masks() {
  return lockstep_host_has_masks();
}
#elif defined(__AVX512F__)
constexpr bool host_has_masks() {
  return true;
}
#else
constexpr bool host_has_masks() {
  return false;
}
#endif

#ifdef __AVX512F__
using HostFloats = float __attribute__((vector_size(64)));
using HostDoubles = double __attribute__((vector_size(64)));
using HostWords = int __attribute__((vector_size(64)));
inline constexpr int kCurrentRounding = 4;

// x * 2^exponent with one rounding. Exponents that a float has not are so large that their rounding is all
// one.
LOCKSTEP_INLINE F32 scaled_by_host(F32 x, F32 exponent) {
  return bits_as<F32>(__builtin_ia32_scalefps512_mask(bits_as<HostFloats>(x), bits_as<HostFloats>(exponent),
                                                      HostFloats{}, static_cast<uint16_t>(-1),
                                                      kCurrentRounding));
}
LOCKSTEP_INLINE F32 scaled_by_host(F32 x, I32 exponent) {
  return scaled_by_host(x, convert<F32>(exponent));
}
LOCKSTEP_INLINE F64 scaled_by_host(F64 x, I32 exponent) {
  struct Halves {
    HostDoubles low, high;
  };
  const auto scaled = [](HostDoubles a, HostDoubles by) __attribute__((always_inline)) {
    return __builtin_ia32_scalefpd512_mask(a, by, HostDoubles{}, static_cast<uint8_t>(-1), kCurrentRounding);
  };
  const auto numbers = bits_as<Halves>(x), by = bits_as<Halves>(convert<F64>(exponent));
  return bits_as<F64>(Halves{scaled(numbers.low, by.low), scaled(numbers.high, by.high)});
}

// The lesser (VRANGE's first two bits 0) or the greater (1) of two numbers with its sign (bit 2); -0 is less
// than +0, a number beats a quiet NaN, a signalling one beats all and is quieted.
inline constexpr int kLesserByHost = 4, kGreaterByHost = 5;

template <int which>
LOCKSTEP_INLINE F32 ranged_by_host(F32 a, F32 b) {
  return bits_as<F32>(__builtin_ia32_rangeps512_mask(bits_as<HostFloats>(a), bits_as<HostFloats>(b), which,
                                                     HostFloats{}, static_cast<uint16_t>(-1),
                                                     kCurrentRounding));
}
template <int which>
LOCKSTEP_INLINE F64 ranged_by_host(F64 a, F64 b) {
  struct Halves {
    HostDoubles low, high;
  };
  const auto ranged = [](HostDoubles x, HostDoubles y) __attribute__((always_inline)) {
    return __builtin_ia32_rangepd512_mask(x, y, which, HostDoubles{}, static_cast<uint8_t>(-1),
                                          kCurrentRounding);
  };
  const auto x = bits_as<Halves>(a), y = bits_as<Halves>(b);
  return bits_as<F64>(Halves{ranged(x.low, y.low), ranged(x.high, y.high)});
}

// The exponent of the first digit, of denormals too; minus infinity of zero.
LOCKSTEP_INLINE F32 exponent_by_host(F32 x) {
  return bits_as<F32>(__builtin_ia32_getexpps512_mask(bits_as<HostFloats>(x), HostFloats{},
                                                      static_cast<uint16_t>(-1), kCurrentRounding));
}

// a * b + c, rounded to odd: of both neighbours of what is between two floats the one with an odd
// significand. What is exact is both (of zeros with unlike signs +0 is taken, which is even as -0 is).
LOCKSTEP_INLINE F32 fused_to_odd_by_host(F32 a, F32 b, F32 c) {
  constexpr int kDown = 9, kUp = 10;  // and no exceptions
  const auto x = bits_as<HostFloats>(a), y = bits_as<HostFloats>(b), z = bits_as<HostFloats>(c);
  const auto below = bits_as<F32>(__builtin_ia32_vfmaddps512_mask(x, y, z, static_cast<uint16_t>(-1), kDown));
  const auto above = bits_as<F32>(__builtin_ia32_vfmaddps512_mask(x, y, z, static_cast<uint16_t>(-1), kUp));
  return (bits_as<U32>(below) & 1) != 0 ? below : above;
}

// Truncated. NaNs and numbers that are too large come as the least.
LOCKSTEP_INLINE I32 truncated_by_host(F32 x) {
  return bits_as<I32>(__builtin_ia32_cvttps2dq512_mask(bits_as<HostFloats>(x), HostWords{},
                                                       static_cast<uint16_t>(-1), kCurrentRounding));
}
// The same, but NaNs are 0.
LOCKSTEP_INLINE I32 converted_by_host(F32 x) {
  return bits_as<I32>(__builtin_ia32_cvttps2dq512_mask(bits_as<HostFloats>(x), HostWords{},
                                                       bits_from_mask(mask_of(x == x)), kCurrentRounding));
}
// Numbers that are too large come as the greatest.
LOCKSTEP_INLINE U32 converted_unsigned_by_host(F32 x) {
  const F32 from_zero = x > 0.0f ? x : F32(0.0f);
  return bits_as<U32>(__builtin_ia32_cvttps2udq512_mask(bits_as<HostFloats>(from_zero), HostWords{},
                                                        static_cast<uint16_t>(-1), kCurrentRounding));
}
#endif

}  // namespace lockstep::numeric::detail
