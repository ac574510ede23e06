// Facts of rows that few ask for: bits of Row::flags beside those of row.h.
#pragma once

#include "isa/row.h"

namespace lockstep::isa {

inline constexpr Flags kFormat = Flags{1} << 21;    // MUBUF, MTBUF: a data format says what is in memory
inline constexpr Flags kStride64 = Flags{1} << 22;  // with kTwoAddresses: in units of 64 elements
// Changes no register and no memory: hints, waits for what is over when it is reached, caches that nobody
// sees.
inline constexpr Flags kHint = Flags{1} << 23;
inline constexpr Flags kWait = Flags{1} << 30;  // for dependency counters, or for all that is under way
// The dot products of floats, and the conversion for compressed exports, take no CLAMP and no OMOD
// (guide 7.2.3.1).
inline constexpr Flags kIgnoresOutputModifiers = Flags{1} << 31;
// Moves bits, whole or in part, between registers or lanes, and computes nothing with them: also selections,
// shifts, and what works bit by bit.
inline constexpr Flags kMovesBits = Flags{1} << 32;

}  // namespace lockstep::isa
