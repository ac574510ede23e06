// Two dwords of memory in one access. Waves on other threads may access the same two: programs publish a
// value together with its flag in 64 bits, which the card moves as one where they are aligned.
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

// An element of which `left` bytes are still to be moved, from `place` on: how many of them in one access, if
// the dword behind is at `next`.
inline unsigned bytes_of_part(unsigned left, uint64_t place, std::optional<uint64_t> next) {
  return left >= 8 && next == place + 4 ? 8 : std::min(4u, left);
}
// So many.
inline void copy_part(void* to, const void* from, unsigned bytes) {
  if (bytes == 8)
    store_pair(to, load_pair(from));
  else
    std::memcpy(to, from, bytes);
}

}  // namespace lockstep
