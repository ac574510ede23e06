// Two or four dwords of memory in one access. Waves on other threads may access the same ones: programs
// publish a value together with its flag in 64 or 128 bits, which the card moves as one where they are
// aligned. Hosts with AVX do so, too, also of 128 bits (Intel's manual, volume 3A, 9.1.1; AMD's, volume
// 2, 7.3.2).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

namespace lockstep {

// Volatile, since the compiler would make two of them where the halves part.
struct [[gnu::packed, gnu::may_alias]] PairInMemory {
  uint64_t both;
};
inline uint64_t load_pair(const void* from) {
  return static_cast<const volatile PairInMemory*>(from)->both;
}
inline void store_pair(void* to, uint64_t pair) {
  static_cast<volatile PairInMemory*>(to)->both = pair;
}

using FourDwords [[gnu::vector_size(16)]] = uint32_t;
struct [[gnu::packed, gnu::may_alias]] FourInMemory {
  FourDwords all;
};
inline FourDwords load_four(const void* from) {
  return static_cast<const volatile FourInMemory*>(from)->all;
}
inline void store_four(void* to, FourDwords four) {
  static_cast<volatile FourInMemory*>(to)->all = four;
}

// An element of which `left` bytes are still to be moved, from `place` on: how many of them in one access.
// `place_behind` gives where the dword is that comes so many bytes later, if anywhere.
template <class PlaceBehind>
inline unsigned bytes_of_part(unsigned left, uint64_t place, PlaceBehind place_behind) {
  const auto follows = [&](unsigned bytes) {
    const std::optional<uint64_t> behind = place_behind(bytes);
    return behind == place + bytes;
  };
  if (left < 8 || !follows(4)) return std::min(4u, left);
  return left >= 16 && follows(8) && follows(12) ? 16 : 8;
}
// So many.
inline void copy_part(void* to, const void* from, unsigned bytes) {
  if (bytes == 16)
    store_four(to, load_four(from));
  else if (bytes == 8)
    store_pair(to, load_pair(from));
  else
    std::memcpy(to, from, bytes);
}

}  // namespace lockstep
