// What the memory instruction of an operation is about to touch, by the functions with which its handler
// finds its addresses.
#pragma once

#include <algorithm>

#include "engine/interpreter/flat_address.h"
#include "engine/interpreter/operation.h"
#include "engine/listener.h"

namespace lockstep::interpreter {

// `first`: of an instruction's operations, the first one. Leaves `accesses` empty if it touches no memory.
// The registers are those that it is about to read.
void find_accesses(const Operation* first, Wave* wave, Accesses& accesses);

// What becomes of an access to guest memory, without a trace of having asked.
Reach reach_in_memory(const Operation* op, const Wave* wave, uint64_t address, uint64_t bytes, Access access);

// Whether what lies beyond the scratch that the wave was given is memory like any other. On a card scratch
// has no limit of its own: an address is FLAT_SCRATCH and the swizzled offset (guide 11.2), and what is
// mapped there can be read, as other waves' entries of a ring in guest memory are. Stores and atomics would
// spoil those, and are refused, unless a trap handler has set FLAT_SCRATCH: then nothing is given.
bool goes_beyond_scratch(const Wave* wave, bool is_load);

// Calls `part(address, bytes)` for the guest memory behind an access to scratch: a lane's dwords do not lie
// side by side.
template <class Function>
void each_scratch_part(const Wave& wave, const MemoryAccess& access, Function part) {
  for (uint32_t done = 0; done < access.bytes;) {
    const uint32_t at = static_cast<uint32_t>(access.address) + done,
                   count = std::min(4 - at % 4, access.bytes - done);
    part(scratch_address(&wave, at, static_cast<unsigned>(access.lane)), count);
    done += count;
  }
}

}  // namespace lockstep::interpreter
