// Which addresses a memory instruction is about to touch: worked out from the registers before it executes.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/instruction.h"
#include "state/wave.h"

namespace lockstep::precise {

struct MemoryAccess {
  uint64_t address = 0;
  uint32_t bytes = 0;
  int lane = -1;  // -1: a scalar load
  bool reads = false, writes = false;
};

struct MemoryAccesses {
  std::vector<MemoryAccess> all;
  bool buffer_out_of_bounds = false;  // a lane of a MUBUF or MTBUF instruction asked for what is not there
};

// Accesses to memory outside the LDS: global memory and, as addresses of global memory, scratch. Empty for
// instructions that touch none.
MemoryAccesses memory_accesses(const Wave& wave, const isa::Instruction& instruction);

}  // namespace lockstep::precise
