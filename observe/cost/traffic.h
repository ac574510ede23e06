// How often an instruction of a wave has to go to LDS and to the cache, by the addresses of its lanes.
#pragma once

#include <cstdint>
#include <span>

#include "engine/listener.h"

namespace lockstep::observe {

// What was taken, and what would do for the same bytes in the best of orders.
struct Traffic {
  uint64_t taken = 0, needed = 0;
};

// Clocks of LDS. It has 32 banks of a dword for each half of a work-group processor, and one address a bank
// and clock (guide 12, 12.1): lanes that want different dwords of one bank wait for each other, those that
// want the same do not. More than a dword a lane comes in as many parts of a wave.
Traffic bank_clocks(std::span<const MemoryAccess> accesses);

// Lines of the vector memory's first cache, 128 bytes each (hardware/: navi31, measured).
Traffic cache_lines(std::span<const MemoryAccess> accesses);

}  // namespace lockstep::observe
