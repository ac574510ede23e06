// The unit of vector work: a chunk of 16 lanes. Wave32 is two chunks, wave64 four.
// clang's extended vectors: element-wise operators, and one meaning on AVX2, AVX-512 and in LLVM IR.
#pragma once

#include <cstdint>

namespace lockstep {

inline constexpr unsigned kLanesPerChunk = 16;

using U8 = uint8_t __attribute__((ext_vector_type(16)));
using U16 = uint16_t __attribute__((ext_vector_type(16)));
using I16 = int16_t __attribute__((ext_vector_type(16)));
using U32 = uint32_t __attribute__((ext_vector_type(16)));
using I32 = int32_t __attribute__((ext_vector_type(16)));
using U64 = uint64_t __attribute__((ext_vector_type(16)));
using I64 = int64_t __attribute__((ext_vector_type(16)));
using F16 = _Float16 __attribute__((ext_vector_type(16)));
using F32 = float __attribute__((ext_vector_type(16)));
using F64 = double __attribute__((ext_vector_type(16)));
// One bit a lane; 16 bits in memory, a predicate register or a lane-wide compare result in code.
using Mask = bool __attribute__((ext_vector_type(16)));

static_assert(sizeof(U32) == 64 && sizeof(Mask) == 2);

#define LOCKSTEP_INLINE inline __attribute__((always_inline))

template <class To, class From>
LOCKSTEP_INLINE To bits_as(From value) {
  return __builtin_bit_cast(To, value);
}
template <class To, class From>
LOCKSTEP_INLINE To convert(From value) {
  return __builtin_convertvector(value, To);
}

// Of the lanes within their chunk.
LOCKSTEP_INLINE U32 lane_numbers() {
  return U32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
}

LOCKSTEP_INLINE Mask mask_from_bits(uint16_t bits) {
  return __builtin_bit_cast(Mask, bits);
}
LOCKSTEP_INLINE uint16_t bits_from_mask(Mask mask) {
  return __builtin_bit_cast(uint16_t, mask);
}
LOCKSTEP_INLINE bool any(Mask mask) {
  return bits_from_mask(mask) != 0;
}
// Turns a lane-wide compare result (0 or -1) into a mask.
LOCKSTEP_INLINE Mask mask_of(I32 compared) {
  return __builtin_convertvector(compared, Mask);
}
LOCKSTEP_INLINE Mask mask_of(I64 compared) {
  return __builtin_convertvector(compared, Mask);
}
LOCKSTEP_INLINE Mask mask_of(I16 compared) {
  return __builtin_convertvector(compared, Mask);
}

// Lane-wise choice: `on` where the mask is set.
LOCKSTEP_INLINE U32 select(Mask mask, U32 on, U32 off) {
  return __builtin_convertvector(mask, I32) != 0 ? on : off;
}
LOCKSTEP_INLINE I32 select(Mask mask, I32 on, I32 off) {
  return __builtin_convertvector(mask, I32) != 0 ? on : off;
}
LOCKSTEP_INLINE F32 select(Mask mask, F32 on, F32 off) {
  return __builtin_convertvector(mask, I32) != 0 ? on : off;
}
LOCKSTEP_INLINE U64 select(Mask mask, U64 on, U64 off) {
  return __builtin_convertvector(mask, I64) != 0 ? on : off;
}
LOCKSTEP_INLINE I64 select(Mask mask, I64 on, I64 off) {
  return __builtin_convertvector(mask, I64) != 0 ? on : off;
}
LOCKSTEP_INLINE F64 select(Mask mask, F64 on, F64 off) {
  return __builtin_convertvector(mask, I64) != 0 ? on : off;
}
LOCKSTEP_INLINE U16 select(Mask mask, U16 on, U16 off) {
  return __builtin_convertvector(mask, I16) != 0 ? on : off;
}
LOCKSTEP_INLINE I16 select(Mask mask, I16 on, I16 off) {
  return __builtin_convertvector(mask, I16) != 0 ? on : off;
}
LOCKSTEP_INLINE F16 select(Mask mask, F16 on, F16 off) {
  return __builtin_convertvector(mask, I16) != 0 ? on : off;
}

LOCKSTEP_INLINE U64 join(U32 low, U32 high) {
  return __builtin_convertvector(low, U64) | (__builtin_convertvector(high, U64) << 32);
}
LOCKSTEP_INLINE U32 low_half(U64 value) {
  return __builtin_convertvector(value, U32);
}
LOCKSTEP_INLINE U32 high_half(U64 value) {
  return __builtin_convertvector(value >> 32, U32);
}

}  // namespace lockstep
