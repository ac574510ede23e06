// PM4 type-3 packets that compute drivers send: opcodes, registers, fields. Facts from public headers:
// packets from the Linux kernel driver's nvd.h, the HSA runtime's amd_gpu_pm4.h and AMD's PAL
// (gfx9_plus_merged_f32_mec_pm4_packets.h), registers from Mesa's database of gfx11 and from PAL.
#pragma once

#include <cstdint>

namespace lockstep::command::pm4 {

enum Opcode : uint32_t {
  kNop = 0x10,
  kDispatchDirect = 0x15,
  kDispatchIndirect = 0x16,
  kAtomicMem = 0x1e,
  kCondExec = 0x22,
  kWriteData = 0x37,
  kWaitRegMem = 0x3c,
  kIndirectBuffer = 0x3f,  // likewise COND_INDIRECT_BUFFER, which is longer
  kCopyData = 0x40,
  kCondWrite = 0x45,
  kEventWrite = 0x46,
  kReleaseMem = 0x49,
  kDmaData = 0x50,
  kAcquireMem = 0x58,
  kRewind = 0x59,
  kPrimeUtcl2 = 0x5d,
  kLoadShRegIndex = 0x63,
  kSetShReg = 0x76,
  kSetUconfigReg = 0x79,
  kSetUconfigRegIndex = 0x7a,
  kWaitRegMem64 = 0x93,
  kHdpFlush = 0x95,
  kInvalidateTlbs = 0x98,
  kSetShRegIndex = 0x9b,
  kTimestamp = 0xb2,
  kSetShRegPairs = 0xba,
  kSetShRegPairsPacked = 0xbb,
  kSetShRegPairsPackedN = 0xbd,
};

inline constexpr uint32_t header(uint32_t opcode, uint32_t payload_dwords) {
  return 3u << 30 | ((payload_dwords - 1) & 0x3fff) << 16 | opcode << 8 | 1u << 1;  // compute
}

// Registers by dword number; SET_SH_REG counts from kShBase, SET_UCONFIG_REG from kUconfigBase.
inline constexpr uint32_t kShBase = 0x2c00, kShEnd = 0x3000, kUconfigBase = 0xc000;
enum Register : uint32_t {
  kDispatchInitiator = 0x2e00,
  kDimX = 0x2e01,
  kStartX = 0x2e04,
  kNumThreadX = 0x2e07,
  kPgmLo = 0x2e0c,
  kPgmHi = 0x2e0d,
  kPacketAddressLo = 0x2e0e,
  kScratchBaseLo = 0x2e10,
  kScratchBaseHi = 0x2e11,
  kPgmRsrc1 = 0x2e12,
  kPgmRsrc2 = 0x2e13,
  kResourceLimits = 0x2e15,
  kTmpringSize = 0x2e18,
  kRestartX = 0x2e1b,
  kPgmRsrc3 = 0x2e28,
  kUserData0 = 0x2e40,
  kDispatchTunnel = 0x2e7d,
};
// GPU_HDP_FLUSH_REQ and _DONE of the bus interface: 0x106 and 0x107 in its third segment (Linux,
// nbio_4_3_0_offset.h), which begins at 0xd20.
inline constexpr uint32_t kHdpFlushRequest = 0xe26, kHdpFlushDone = 0xe27;
// SH_MEM_CONFIG, which no SET packet reaches: address mode (0: 64 bits), alignment mode, instructions that
// are fetched ahead. The driver sets 64 bits, UNALIGNED and 3. Its number is 0x9e4 in the graphics core's
// second segment (Linux, gc_11_0_0_offset.h, regSH_MEM_CONFIG with BASE_IDX 1), which begins at 0xa000; those
// above are in the first, which begins at 0x1260 (regCOMPUTE_DISPATCH_INITIATOR: 0x1ba0).
inline constexpr uint32_t kShMemConfig = 0xa9e4, kShMemAddressMode = 1u << 0, kShMemAlignmentShift = 2,
                          kShMemFetchAhead = 3u << 14;
// COMPUTE_STATIC_THREAD_MGMT_SE0 to SE7
inline constexpr uint32_t kStaticThreadManagement[] = {0x2e16, 0x2e17, 0x2e19, 0x2e1a,
                                                       0x2e2b, 0x2e2c, 0x2e2d, 0x2e2e};
// Whether it is a compute register of gfx11.
constexpr bool is_compute_register(uint32_t number) {
  return (number >= 0x2e00 && number <= 0x2e22) || (number >= 0x2e24 && number <= 0x2e32) ||
         (number >= kUserData0 && number < kUserData0 + 16) || number == kDispatchTunnel;
}

// DISPATCH_INITIATOR
inline constexpr uint32_t kComputeShaderEnable = 1u << 0, kPartialGroups = 1u << 1, kStartAtZero = 1u << 2,
                          kOrderedAppend = 1u << 3, kThreadDimensions = 1u << 5, kRestore = 1u << 14,
                          kWave32 = 1u << 15;

// EVENT_WRITE and RELEASE_MEM event types
enum Event : uint32_t {
  kCacheFlushTs = 0x04,
  kCacheFlush = 0x06,
  kCsPartialFlush = 0x07,
  kVsPartialFlush = 0x0f,
  kPsPartialFlush = 0x10,
  kCacheFlushAndInvTs = 0x14,
  kCacheFlushAndInv = 0x16,
  kPerfcounterStart = 0x17,
  kPerfcounterStop = 0x18,
  kPipelinestatStart = 0x19,
  kPipelinestatStop = 0x1a,
  kPerfcounterSample = 0x1b,
  kSamplePipelinestat = 0x1e,
  kBottomOfPipeTs = 0x28,
  kDbCacheFlushAndInv = 0x2a,
  kFlushAndInvDbDataTs = 0x2b,
  kFlushAndInvDbMeta = 0x2c,
  kFlushAndInvCbDataTs = 0x2d,
  kFlushAndInvCbMeta = 0x2e,
  kCsDone = 0x2f,
  kFlushAndInvCbPixelData = 0x31,
  kThreadTraceStart = 0x33,
  kThreadTraceStop = 0x34,
  kThreadTraceMarker = 0x35,
  kThreadTraceFinish = 0x37,
};
// ACQUIRE_MEM GCR_CNTL: instruction cache invalidate is bits 0 and 1.
inline constexpr uint32_t kGcrInstructionInvalidate = 3;

}  // namespace lockstep::command::pm4
