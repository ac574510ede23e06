// Integer helpers that several instruction bodies share: saturation, sign extension, bit counts.
#pragma once

#include "semantics/body.h"

namespace lockstep::semantics {

// The bytes of a chunk of U32.
using U8x64 = uint8_t __attribute__((ext_vector_type(64)));

// Signed addition wraps here; on vectors of signed elements clang would assume that it does not.
LOCKSTEP_INLINE I32 wrapping_add(I32 a, I32 b) {
  return bits_as<I32>(bits_as<U32>(a) + bits_as<U32>(b));
}
LOCKSTEP_INLINE I32 wrapping_sub(I32 a, I32 b) {
  return bits_as<I32>(bits_as<U32>(a) - bits_as<U32>(b));
}
LOCKSTEP_INLINE I16 wrapping_add(I16 a, I16 b) {
  return bits_as<I16>(bits_as<U16>(a) + bits_as<U16>(b));
}
LOCKSTEP_INLINE I16 wrapping_sub(I16 a, I16 b) {
  return bits_as<I16>(bits_as<U16>(a) - bits_as<U16>(b));
}

LOCKSTEP_INLINE U32 sign_extend_24(U32 value) {
  return bits_as<U32>(bits_as<I32>(value << 8) >> 8);
}

LOCKSTEP_INLINE U64 multiply_wide(U32 a, U32 b) {
  return convert<U64>(a) * convert<U64>(b);
}
LOCKSTEP_INLINE I64 multiply_wide(I32 a, I32 b) {
  return convert<I64>(a) * convert<I64>(b);
}

// The 48-bit product of the low 24 bits.
LOCKSTEP_INLINE I64 multiply_i24(U32 a, U32 b) {
  return multiply_wide(bits_as<I32>(sign_extend_24(a)), bits_as<I32>(sign_extend_24(b)));
}

// Exact 64-bit results clamped to what the destination can hold.
LOCKSTEP_INLINE I32 saturate_i32(I64 exact) {
  const I64 least = INT32_MIN, greatest = INT32_MAX;
  return convert<I32>(__builtin_elementwise_min(__builtin_elementwise_max(exact, least), greatest));
}
LOCKSTEP_INLINE U32 saturate_u32(U64 exact) {
  const U64 greatest = UINT32_MAX;
  return convert<U32>(__builtin_elementwise_min(exact, greatest));
}
LOCKSTEP_INLINE I16 saturate_i16(I32 exact) {
  const I32 least = INT16_MIN, greatest = INT16_MAX;
  return convert<I16>(__builtin_elementwise_min(__builtin_elementwise_max(exact, least), greatest));
}
LOCKSTEP_INLINE U16 saturate_u16(U32 exact) {
  const U32 greatest = UINT16_MAX;
  return convert<U16>(__builtin_elementwise_min(exact, greatest));
}

// In the form that LLVM knows as a population count, and turns into the best that the host has.
LOCKSTEP_INLINE U32 population_count(U32 value) {
  value = value - (value >> 1 & 0x55555555u);
  value = (value & 0x33333333u) + (value >> 2 & 0x33333333u);
  value = (value + (value >> 4)) & 0x0f0f0f0fu;
  return value * 0x01010101u >> 24;
}

// Position of the one bit of each lane, from the exponent of its float value (the sign does not matter).
LOCKSTEP_INLINE I32 position_of_single_bit(U32 single_bit) {
  return bits_as<I32>(bits_as<U32>(convert<F32>(bits_as<I32>(single_bit))) >> 23 & 0xffu) - 127;
}

// Zeros above the highest one; -1 if there is no one.
LOCKSTEP_INLINE I32 leading_zeros(U32 value) {
  // With the bit below the highest one cleared, the conversion cannot round up to the next power of two. The
  // highest bit makes the float negative, which is the case of no leading zeros.
  const I32 floated = bits_as<I32>(convert<F32>(bits_as<I32>(value & ~(value >> 1))));
  const I32 zeros = 158 - (floated >> 23);
  const I32 none = -1, all = 0;
  const I32 of_positive = value == 0 ? none : zeros;
  return bits_as<I32>(value) < 0 ? all : of_positive;
}

// Zeros below the lowest one; -1 if there is no one.
LOCKSTEP_INLINE I32 trailing_zeros(U32 value) {
  const I32 none = -1;
  return value == 0 ? none : position_of_single_bit(value & (0u - value));
}

LOCKSTEP_INLINE U32 pack_halves(U16 low, U16 high) {
  return convert<U32>(low) | convert<U32>(high) << 16;
}

}  // namespace lockstep::semantics
