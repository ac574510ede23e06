// Numbers that programs name hardware registers and messages by.
#pragma once

namespace lockstep::isa {

// Ids of s_getreg and s_setreg (guide 3.4 and 6.8; LLVM AMDGPU hwreg names for gfx11).
namespace hardware_register {
inline constexpr unsigned kMode = 1, kStatus = 2, kTrapsts = 3, kGprAlloc = 5, kLdsAlloc = 6, kIbSts = 7,
                          kFlushInstructionBuffers = 14, kShMemBases = 15, kFlatScratchLow = 20,
                          kFlatScratchHigh = 21, kHwId1 = 23, kHwId2 = 24, kShaderCycles = 29;
}  // namespace hardware_register

// Messages of s_sendmsg (guide 5.3, table 15) and of s_sendmsg_rtn (table 16, 16.3).
namespace message {
inline constexpr unsigned kInterrupt = 1, kHsTessFactor = 2, kDeallocVgprs = 3, kGsAllocRequest = 9;
inline constexpr unsigned kDoorbell = 0x80, kDrawId = 0x81, kTma = 0x82, kRealTime = 0x83, kSaveWave = 0x84,
                          kTba = 0x85, kIllegal = 0xff;
}  // namespace message

}  // namespace lockstep::isa
