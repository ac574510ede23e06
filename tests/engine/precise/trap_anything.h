// Any code in a trap handler, where registers are writable that the machine makes addresses of. For the
// fuzzer and for the test that needs no fuzzer.
#pragma once

#include <cstddef>
#include <span>

namespace lockstep::precise {

// The first bytes choose what traps, and how results land; the rest are instructions, one part of them the
// program, the other its handler. Up to 16 bytes are the seed of code whose instructions all decode, with
// s_setreg of FLAT_SCRATCH and traps among it. Registers hold addresses of the guest's memory and of pages
// that nobody may touch: whoever does ends the process.
void trap_anything(std::span<const std::byte> bytes);

}  // namespace lockstep::precise
