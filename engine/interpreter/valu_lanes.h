// How the lanes of vector ALU operands lie in the host's registers: pairs of VGPRs as values of 64 bits, and
// the masks of EXEC, VCC and compares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "numeric/lanes.h"

namespace lockstep::interpreter {
// Unnamed, as in valu.h.
namespace {

// Hosts with mask registers, whose shuffles take two whole registers as well.
#ifdef __AVX512F__
constexpr bool kHasMaskRegisters = true;
#else
constexpr bool kHasMaskRegisters = false;
#endif

// A register pair as sixteen values of 64 bits, and back: as shuffles, which take less than the conversions
// of join(), low_half() and high_half(). In float registers, since LLVM makes truncations of them in others.
// `in_halves`: in the order that AVX2's shuffles make, which know no way from one half of a host register to
// the other: it is nobody's business if all of a body's vectors are in it.
template <bool in_halves>
constexpr int place_in_pairs(int lane) {
  if (!in_halves) return lane;
  // Lanes 0 1 4 5, 2 3 6 7; and 2 and 4, 3 and 5 change places on the way back, too.
  const int within = lane % 8;
  return within == 2 || within == 3 ? lane + 2 : within == 4 || within == 5 ? lane - 2 : lane;
}
using F32Pairs = float __attribute__((ext_vector_type(32)));
template <bool in_halves, size_t... i>
LOCKSTEP_INLINE U64 join_words(F32 low, F32 high, std::index_sequence<i...>) {
  return bits_as<U64>(F32Pairs(__builtin_shufflevector(
      low, high, (place_in_pairs<in_halves>(static_cast<int>(i / 2)) + (i % 2 ? 16 : 0))...)));
}
template <bool in_halves, int word, size_t... lane>
LOCKSTEP_INLINE U32 word_of_pairs(F32Pairs pairs, std::index_sequence<lane...>) {
  return bits_as<U32>(F32(__builtin_shufflevector(
      pairs, pairs, (2 * place_in_pairs<in_halves>(static_cast<int>(lane)) + word)...)));
}
template <bool in_halves>
LOCKSTEP_INLINE U64 join_pair(U32 low, U32 high) {
  return join_words<in_halves>(bits_as<F32>(low), bits_as<F32>(high), std::make_index_sequence<32>());
}
template <bool in_halves>
LOCKSTEP_INLINE U32 low_of_pair(U64 value) {
  return word_of_pairs<in_halves, 0>(bits_as<F32Pairs>(value), std::make_index_sequence<16>());
}
template <bool in_halves>
LOCKSTEP_INLINE U32 high_of_pair(U64 value) {
  return word_of_pairs<in_halves, 1>(bits_as<F32Pairs>(value), std::make_index_sequence<16>());
}
template <bool in_halves, size_t... lane>
LOCKSTEP_INLINE I32 in_order_of_lanes(I32 of_pairs, std::index_sequence<lane...>) {
  return __builtin_shufflevector(of_pairs, of_pairs, place_in_pairs<in_halves>(static_cast<int>(lane))...);
}

// A chunk's part of a word of bits, as the sign of each lane's element: without mask registers a blend looks
// at nothing else.
LOCKSTEP_INLINE I32 signs_from_bits(uint32_t word, unsigned chunk) {
  return bits_as<I32>(U32(word) << (31u - 16u * (chunk % 2) - lane_numbers()));
}
LOCKSTEP_INLINE Mask mask_from_word(uint32_t word, unsigned chunk) {
  if constexpr (kHasMaskRegisters)
    return mask_from_bits(static_cast<uint16_t>(word >> (chunk % 2 * 16)));
  else
    return mask_of(signs_from_bits(word, chunk) < 0);
}

// ---- Merging
// -----------------------------------------------------------------------------------------------------

// The lanes of a chunk that are written: those of a mask of bits, which are probably all; those of EXEC where
// some are missing; or all.
struct AllLanes {};
template <bool has_mask_registers>
struct SomeLanes;
template <>
struct SomeLanes<true> {
  Mask mask;
  LOCKSTEP_INLINE SomeLanes(uint32_t exec, unsigned chunk) : mask(mask_from_word(exec, chunk)) {}
  LOCKSTEP_INLINE U32 choose(U32 on, U32 off) const { return select(mask, on, off); }
};
template <>
struct SomeLanes<false> {
  I32 signs;
  LOCKSTEP_INLINE SomeLanes(uint32_t exec, unsigned chunk) : signs(signs_from_bits(exec, chunk)) {}
  LOCKSTEP_INLINE U32 choose(U32 on, U32 off) const { return signs < 0 ? on : off; }
};
LOCKSTEP_INLINE void merge(U32* destination, U32 value, uint16_t lanes) {
  *destination = lanes == 0xffff ? value : select(mask_from_bits(lanes), value, *destination);
}
LOCKSTEP_INLINE void merge(U32* destination, U32 value, SomeLanes<kHasMaskRegisters> lanes) {
  *destination = lanes.choose(value, *destination);
}
LOCKSTEP_INLINE void merge(U32* destination, U32 value, AllLanes) {
  *destination = value;
}

using MaskOfWave32 = bool __attribute__((ext_vector_type(32)));
LOCKSTEP_INLINE uint32_t bits_of_both(Mask low, Mask high) {
  return [&]<size_t... lane>(std::index_sequence<lane...>) __attribute__((always_inline)) {
    return __builtin_bit_cast(uint32_t,
                              MaskOfWave32(__builtin_shufflevector(low, high, static_cast<int>(lane)...)));
  }(std::make_index_sequence<32>());
}

// Whether any lane that is on is in doubt.
LOCKSTEP_INLINE bool any_on(I32 low, I32 high, uint32_t exec) {
  if constexpr (kHasMaskRegisters)
    return (bits_of_both(mask_of(low), mask_of(high)) & exec) != 0;
  else
    return any(mask_of(((low & signs_from_bits(exec, 0)) | (high & signs_from_bits(exec, 1))) < 0));
}

}  // namespace
}  // namespace lockstep::interpreter
