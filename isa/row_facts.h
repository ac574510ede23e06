// Facts of rows that few ask for: bits of Row::flags beside those of row.h.
#pragma once

#include "isa/row.h"

namespace lockstep::isa {

inline constexpr uint32_t kFormat = 1u << 21;    // MUBUF, MTBUF: a data format says what is in memory
inline constexpr uint32_t kStride64 = 1u << 22;  // with kTwoAddresses: in units of 64 elements
// Changes no register and no memory: hints, waits for what is over when it is reached, caches that nobody
// sees.
inline constexpr uint32_t kHint = 1u << 23;
inline constexpr uint32_t kWait = 1u << 30;  // for dependency counters, or for all that is under way
// The dot products of floats, and the conversion for compressed exports, take no CLAMP and no OMOD
// (guide 7.2.3.1).
inline constexpr uint32_t kIgnoresOutputModifiers = 1u << 31;
// Moves bits, whole or in part, between registers or lanes, and computes nothing with them: also selections,
// shifts, and what works bit by bit. There is no room for another bit: this one is that of instructions with
// two addresses.
inline constexpr uint32_t kMovesBits = kStride64;
inline bool moves_bits(const Row& row) {
  return row.flags & kMovesBits && !(row.flags & kTwoAddresses);
}

}  // namespace lockstep::isa
