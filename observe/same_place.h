// Accesses that reach the same bytes.
#pragma once

#include "engine/listener.h"

namespace lockstep::observe {

// Not of scratch, where each lane has its own.
inline bool reach_the_same(const MemoryAccess& a, const MemoryAccess& b) {
  return a.address == b.address && a.bytes == b.bytes && a.space == b.space && a.reach == b.reach &&
         a.space != MemorySpace::scratch;
}

}  // namespace lockstep::observe
