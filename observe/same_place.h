// Accesses that reach the same bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "engine/listener.h"

namespace lockstep::observe {

// Not of scratch, where each lane has its own.
inline bool reach_the_same(const MemoryAccess& a, const MemoryAccess& b) {
  return a.address == b.address && a.bytes == b.bytes && a.space == b.space && a.reach == b.reach &&
         a.space != MemorySpace::scratch;
}

// How many accesses each lane makes: instructions of the LDS may have two addresses.
inline size_t accesses_of_a_lane(std::span<const MemoryAccess> accesses) {
  const auto other = std::find_if(accesses.begin(), accesses.end(),
                                  [&](const MemoryAccess& each) { return each.lane != accesses[0].lane; });
  return static_cast<size_t>(other - accesses.begin());
}

// Whether an earlier access of the same instruction reaches the same bytes: of the lane before, or of the one
// 16 lanes before. Lanes of a row often read one element, and rows the same ones.
inline bool repeats_another(std::span<const MemoryAccess> accesses, size_t index, size_t of_a_lane) {
  const auto repeats = [&](size_t back) {
    return index >= back && reach_the_same(accesses[index - back], accesses[index]);
  };
  return repeats(of_a_lane) || repeats(16 * of_a_lane);
}

}  // namespace lockstep::observe
