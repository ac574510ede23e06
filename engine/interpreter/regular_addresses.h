// Loads and stores of a wave32 whose lanes are all on, where each half of the lanes reaches elements that lie
// one behind the other, or all of them one: what compilers' code does most, in handlers without loops.
#pragma once

#include "engine/interpreter/memory_access.h"
#include "memory/whole_access.h"

namespace lockstep::interpreter {
namespace {

inline constexpr unsigned kRegisterBytesOfWave32 = 32 * 4;

LOCKSTEP_INLINE bool is_whole_wave32(const Wave* wave) {
  return wave->chunks == 2 && wave->scalar[kScalarExec] == ~0u;
}

template <uint32_t bytes>
struct RegularAddresses {
  uint32_t first[2];    // of each chunk's lanes
  bool consecutive[2];  // or all the same
  bool are_regular;     // what stands above is so

  explicit LOCKSTEP_INLINE RegularAddresses(const std::byte* address_register) {
    I32 others(0);
    for (unsigned chunk = 0; chunk < 2; ++chunk) {
      const auto* addresses = reinterpret_cast<const U32*>(address_register) + chunk;
      const auto* lanes = reinterpret_cast<const uint32_t*>(addresses);
      first[chunk] = lanes[0];
      consecutive[chunk] = lanes[1] - lanes[0] == bytes;
      others |= *addresses - first[chunk] != kSteps[consecutive[chunk]];
    }
    are_regular = !any(mask_of(others));
  }
  LOCKSTEP_INLINE bool are_consecutive() const { return consecutive[0] && consecutive[1]; }
  LOCKSTEP_INLINE uint32_t span(unsigned chunk) const { return consecutive[chunk] ? 16 * bytes : bytes; }

 private:
  static constexpr U32 kSteps[2] = {
      U32(0u), U32{0, 1 * bytes, 2 * bytes, 3 * bytes, 4 * bytes, 5 * bytes, 6 * bytes, 7 * bytes, 8 * bytes,
                   9 * bytes, 10 * bytes, 11 * bytes, 12 * bytes, 13 * bytes, 14 * bytes, 15 * bytes}};
};

// The same where both halves of the lanes lie in one way, each of which has a path of its own.
template <uint32_t bytes>
struct AddressesOfHalves {
  uint32_t first[2];  // of each chunk's lanes
  U32 distances[2];   // from those

  explicit LOCKSTEP_INLINE AddressesOfHalves(const std::byte* address_register) {
    for (unsigned chunk = 0; chunk < 2; ++chunk) {
      const std::byte* const lanes = address_register + chunk * sizeof(U32);
      __builtin_memcpy(&first[chunk], lanes, sizeof first[chunk]);
      distances[chunk] = *reinterpret_cast<const U32*>(lanes) - first[chunk];
    }
  }
  LOCKSTEP_INLINE bool are_consecutive() const { return are(lane_numbers() * bytes); }
  LOCKSTEP_INLINE bool are_same() const { return are(U32(0u)); }
  // Where each half takes up so many bytes, from an offset on.
  LOCKSTEP_INLINE bool reach_into_lds(const Wave* wave, uint32_t offset, uint32_t span) const {
    const int64_t last = int64_t{wave->lds_bytes} - offset - span;
    return int64_t{first[0]} <= last && int64_t{first[1]} <= last;
  }

 private:
  LOCKSTEP_INLINE bool are(U32 expected) const {
    return !any(mask_of((distances[0] != expected) | (distances[1] != expected)));
  }
};

// The first 16 lanes' part of a register of wave32, and of those behind it, from regular addresses.
template <unsigned dwords>
LOCKSTEP_INLINE void load_regular(std::byte* registers, const std::byte* from, bool consecutive) {
  const auto word = [&](unsigned i) -> U32& {
    return *reinterpret_cast<U32*>(registers + i * kRegisterBytesOfWave32);
  };
  if (consecutive) {
    U32 words[dwords];
    load_elements(from, words);
    for (unsigned i = 0; i < dwords; ++i) word(i) = words[i];
  } else {
    // Of a copy of all words the compiler makes a load of each.
    if constexpr (dwords == 4) {
      const FourDwords four = load_four(from);
      for (unsigned i = 0; i < 4; ++i) word(i) = U32(four[i]);
      return;
    }
    for (unsigned i = 0; i + 1 < dwords; i += 2) {
      const uint64_t pair = load_pair(from + 4 * i);
      word(i) = U32(static_cast<uint32_t>(pair));
      word(i + 1) = U32(static_cast<uint32_t>(pair >> 32));
    }
    if constexpr (dwords % 2 != 0) {
      uint32_t last;
      __builtin_memcpy(&last, from + 4 * (dwords - 1), sizeof last);
      word(dwords - 1) = U32(last);
    }
  }
}
template <unsigned dwords>
LOCKSTEP_INLINE void store_regular(const std::byte* registers, std::byte* to) {
  U32 words[dwords];
  for (unsigned i = 0; i < dwords; ++i)
    words[i] = *reinterpret_cast<const U32*>(registers + i * kRegisterBytesOfWave32);
  store_elements(words, to);
}

}  // namespace
}  // namespace lockstep::interpreter
