// Bits of STATUS, TRAPSTS and MODE that traps and exceptions are about (guide 3.4.1, 3.4.2, 3.4.9).
#pragma once

#include <cstdint>

namespace lockstep {

// What s_trap 2 says (LLVM AMDGPU usage, trap handler ABI).
inline constexpr char kTrapOfCompilers[] =
    "the kernel called a trap (s_trap 2: llvm.trap, abort or a failed assertion)";

namespace status_bit {
inline constexpr uint32_t kScc = 1u << 0, kSystemPriority = 3u << 1, kUserPriority = 3u << 3,
                          kPrivileged = 1u << 5, kTrapEnabled = 1u << 6, kExportReady = 1u << 8,
                          kExecZero = 1u << 9, kVccZero = 1u << 10, kInWorkGroup = 1u << 11,
                          kInBarrier = 1u << 12, kHalt = 1u << 13, kValid = 1u << 16, kSkipExport = 1u << 18,
                          kConditionDebugUser = 1u << 20, kConditionDebugSystem = 1u << 21,
                          kFatalHalt = 1u << 23, kNoVgprs = 1u << 24, kLdsParamReady = 1u << 25,
                          kMustExport = 1u << 27, kIdle = 1u << 28, kScratchEnabled = 1u << 29;
inline constexpr unsigned kSystemPriorityShift = 1, kUserPriorityShift = 3;
// What a trap handler may write.
inline constexpr uint32_t kWritable = kScc | kSystemPriority | kUserPriority | kExportReady | kHalt |
                                      kSkipExport | kConditionDebugUser | kConditionDebugSystem |
                                      kLdsParamReady | kMustExport | kScratchEnabled;
}  // namespace status_bit

// Of a STATUS: HALT waits until the trap handler is left, FATAL_HALT does not (guide 3.4.1).
inline bool is_halted(uint32_t status) {
  return status & status_bit::kFatalHalt ||
         (status & status_bit::kHalt && !(status & status_bit::kPrivileged));
}

// Of a STATUS, 0 to 3: what the user set on top of what the launch said (guide 5.1, s_setprio).
inline unsigned priority_of(uint32_t status) {
  const unsigned sum =
      (status >> status_bit::kSystemPriorityShift & 3) + (status >> status_bit::kUserPriorityShift & 3);
  return sum > 3 ? 3 : sum;
}

namespace trapsts_bit {
// EXCP: sticky, whether enabled or not.
inline constexpr uint32_t kInvalid = 1u << 0, kInputDenormal = 1u << 1, kDivideByZero = 1u << 2,
                          kOverflow = 1u << 3, kUnderflow = 1u << 4, kInexact = 1u << 5,
                          kIntegerDivideByZero = 1u << 6, kAddressWatch = 1u << 7, kMemoryViolation = 1u << 8;
inline constexpr uint32_t kExceptions = 0x1ff;
// The seven that an arithmetic instruction can raise.
inline constexpr uint32_t kArithmetic = 0x7f;
inline constexpr uint32_t kSaveContext = 1u << 10, kIllegalInstruction = 1u << 11,
                          kAddressWatch1 = 1u << 12,  // then 2 and 3
    kBufferOutOfBounds = 1u << 15, kHostTrap = 1u << 16, kWaveStart = 1u << 17, kWaveEnd = 1u << 18,
                          kTrapAfterInstruction = 1u << 20;
inline constexpr uint32_t kDefined = kExceptions | kSaveContext | kIllegalInstruction | 7 * kAddressWatch1 |
                                     kBufferOutOfBounds | kHostTrap | kWaveStart | kWaveEnd |
                                     kTrapAfterInstruction;
}  // namespace trapsts_bit

namespace mode_bit {
inline constexpr uint32_t kDx10Clamp = 1u << 8, kTrapAfterInstruction = 1u << 11;
// EXCP_EN: bit n enables the trap of TRAPSTS.EXCP bit n.
inline constexpr unsigned kExceptionEnableShift = 12;
inline constexpr uint32_t kExceptionEnable = 0xffu << kExceptionEnableShift;
inline constexpr uint32_t kTrapOnEnd = 1u << 21;
}  // namespace mode_bit

}  // namespace lockstep
