// Numbers that programs name hardware registers and messages by.
#pragma once

#include <cstdint>

namespace lockstep::isa {

// Ids of s_getreg and s_setreg (guide 3.4 and 6.8; LLVM AMDGPU hwreg names for gfx11).
namespace hardware_register {
inline constexpr unsigned kMode = 1, kStatus = 2, kTrapsts = 3, kGprAlloc = 5, kLdsAlloc = 6, kIbSts = 7,
                          kFlushInstructionBuffers = 14, kShMemBases = 15, kFlatScratchLow = 20,
                          kFlatScratchHigh = 21, kHwId1 = 23, kHwId2 = 24, kShaderCycles = 29;
}  // namespace hardware_register

// What s_getreg and s_setreg name: some bits of a hardware register (guide 16.1).
struct HardwareField {
  unsigned number, offset, size;
  constexpr uint32_t mask() const {
    return static_cast<uint32_t>((uint64_t{1} << size) - 1);
  }  // of its value
};
constexpr HardwareField hardware_field(uint32_t packed) {
  return {packed & 63, packed >> 6 & 31, (packed >> 11 & 31) + 1};
}

// Messages of s_sendmsg (guide 5.3, table 15) and of s_sendmsg_rtn (table 16, 16.3).
namespace message {
inline constexpr unsigned kInterrupt = 1, kHsTessFactor = 2, kDeallocVgprs = 3, kGsAllocRequest = 9;
inline constexpr unsigned kDoorbell = 0x80, kDrawId = 0x81, kTma = 0x82, kRealTime = 0x83, kSaveWave = 0x84,
                          kTba = 0x85, kIllegal = 0xff;
}  // namespace message

}  // namespace lockstep::isa
