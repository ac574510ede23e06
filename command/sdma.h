// Packets of the copy engine, SDMA 6 of gfx11. Facts from public headers: the Linux kernel driver's
// sdma_v6_0_0_pkt_open.h, and for ATOMIC the HSA runtime's sdma_registers.h.
#pragma once

#include <cstdint>

namespace lockstep::command::sdma {

enum Operation : uint32_t {
  kNop = 0,
  kCopy = 1,
  kWrite = 2,
  kIndirect = 4,
  kFence = 5,
  kTrap = 6,
  kSemaphore = 7,
  kPollRegisterOrMemory = 8,
  kConditionalExecution = 9,
  kAtomic = 10,
  kConstantFill = 11,
  kTimestamp = 13,
  kCacheRequest = 17,
  kDummyTrap = 32,  // interrupts nobody
};
// Sub-operations of COPY: a linear range, or a box in two arrays of elements.
inline constexpr uint32_t kCopyLinear = 0, kCopyLinearRectangle = 4;
// The HSA runtime flushes the host data path with a poll whose register number has this bit and no other.
inline constexpr uint32_t kHostDataPathFlush = 0x80000000;
inline constexpr uint32_t kTimestampGet = 1, kTimestampGetGlobal = 2;
inline constexpr uint32_t kAtomicAdd64 = 47;

}  // namespace lockstep::command::sdma
