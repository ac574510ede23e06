// PM4 queues: what compute drivers send, and what they must not.
#include "command/pm4.h"

#include <cstring>
#include <random>
#include <thread>

#include "tests/command/machine_under_test.h"
#include "tests/command/pm4_words.h"

namespace lockstep::command {
namespace {

constexpr const char* kStoreText =
    "s_add_i32 s4, s4, s5\ns_lshl_b32 s6, s4, 2\nv_mov_b32 v1, s6\nv_mov_b32 v2, s4\ns_mov_b32 exec_lo, 1\n"
    "global_store_b32 v1, v2, s[2:3]";

struct Pm4Test : RingQueueTest<Pm4Queue> {
  // Registers for a kernel that stores s4 + work-group id x to memory[s4 + id], s[2:3] the buffer.
  Words kernel_registers(uint32_t items, uint32_t base, bool wave32 = true, const char* body = kStoreText);
};

Words Pm4Test::kernel_registers(uint32_t items, uint32_t base, bool wave32, const char* body) {
  const uint64_t descriptor =
      m.load({.name = wave32 ? "s32" : "s64", .body = body, .wave_size = wave32 ? 32u : 64u});
  int64_t offset;
  std::memcpy(&offset, reinterpret_cast<const void*>(descriptor + 16), 8);
  const uint64_t entry = descriptor + static_cast<uint64_t>(offset);
  return set(pm4::kPgmLo, {static_cast<uint32_t>(entry >> 8), static_cast<uint32_t>(entry >> 40)}) +
         set(pm4::kPgmRsrc1, {1 | 0xf0u << 12 | 1u << 21, 5u << 1 | 1u << 7}) +
         set(pm4::kNumThreadX, {items, 1, 1}) + set(pm4::kUserData0, {0, 0, low(memory), high(memory), base});
}

TEST_F(Pm4Test, DispatchDirectAndTheEndOfThePipe) {
  // All 8 compute units of each array may have waves; there are 6 shader engines.
  submit(
      kernel_registers(64, 100) + set(pm4::kStaticThreadManagement[0], {0x00ff00ff, ~0u}) +
      set(pm4::kStaticThreadManagement[6], {0, 0}) +
      packet(pm4::kDispatchDirect, {20, 1, 1, pm4::kComputeShaderEnable | pm4::kStartAtZero | pm4::kWave32}) +
      release(memory, 7));
  ASSERT_TRUE(becomes(memory, 7));
  for (uint32_t i = 0; i < 20; ++i) EXPECT_EQ(memory[100 + i], 100 + i);
  EXPECT_EQ(memory[120], 0u);
}

// HW_ID1 (guide 3.4.8): SIMD_ID 9:8, WGP_ID 13:10, SA_ID 16, SE_ID 20:18.
TEST_F(Pm4Test, WavesGoToTheComputeUnitsThatAreLeft) {
  const char* const where =
      "s_getreg_b32 s6, hwreg(HW_REG_HW_ID1)\ns_add_u32 s7, s5, s4\ns_lshl_b32 s7, s7, 2\nv_mov_b32 v1, s7\n"
      "v_mov_b32 v2, s6\ns_mov_b32 exec_lo, 1\nglobal_store_b32 v1, v2, s[2:3]";
  constexpr uint32_t kWgpMode = 1u << 29, kUnitsOf = 3;
  const auto only = [](unsigned engine, unsigned array, unsigned processor, uint32_t units) {
    Words words;
    for (unsigned i = 0; i < std::size(pm4::kStaticThreadManagement); ++i)
      words = words +
              set(pm4::kStaticThreadManagement[i], {i == engine ? units << (16 * array + 2 * processor) : 0});
    return words;
  };
  const Words start =
      packet(pm4::kDispatchDirect, {40, 1, 1, pm4::kComputeShaderEnable | pm4::kStartAtZero | pm4::kWave32});
  const auto run = [&](const Words& units, uint32_t mode) {
    std::fill(memory, memory + 200, 0);
    submit(kernel_registers(32, 100, true, where) + set(pm4::kPgmRsrc1, {1 | 0xf0u << 12 | 1u << 21 | mode}) +
           units + start + release(memory, 1));
    return becomes(memory, 1);
  };
  ASSERT_TRUE(run(only(4, 1, 2, kUnitsOf), kWgpMode));
  for (unsigned i = 100; i < 140; ++i) EXPECT_EQ(memory[i] & 0x1d3c00, 4u << 18 | 1u << 16 | 2u << 10) << i;
  // One unit of a processor: waves in CU mode, on its SIMDs.
  ASSERT_TRUE(run(only(0, 0, 3, 2), 0));
  for (unsigned i = 100; i < 140; ++i) {
    EXPECT_EQ(memory[i] & 0x1d3c00, 3u << 10) << i;
    EXPECT_GE(memory[i] >> 8 & 3, 2u) << i;
  }
  // A work-group in WGP mode would need the other one, too.
  const QueueError error =
      failure(kernel_registers(32, 0, true, where) +
              set(pm4::kPgmRsrc1, {1 | 0xf0u << 12 | 1u << 21 | kWgpMode}) + only(0, 0, 3, 2) + start);
  EXPECT_NE(error.message.find("that its queue may use"), std::string::npos) << error.message;
  const QueueError none = failure(kernel_registers(32, 0, true, where) + only(0, 0, 0, 0) + start);
  EXPECT_NE(none.message.find("that its queue may use"), std::string::npos) << none.message;
}

// Index 3 masks what it sets by the units that the driver leaves the queue; the plain packet does not look.
TEST_F(Pm4Test, SetShRegIndexStaysWithinTheQueuesComputeUnits) {
  machine::ComputeUnits::Words allowed{};
  allowed[2] = 3u << 4;  // the third processor of one array
  queue->set_compute_units(machine::ComputeUnits(allowed));
  const uint32_t engine_2 = pm4::kStaticThreadManagement[2] - pm4::kShBase;
  submit(packet(pm4::kSetShRegIndex, {engine_2 | 3u << 28, ~0u}) +
         packet(pm4::kCopyData, {2u << 8, engine_2 + pm4::kShBase, 0, low(memory), high(memory)}) +
         packet(pm4::kSetShRegIndex, {pm4::kUserData0 - pm4::kShBase | 3u << 28, ~0u}) +
         packet(pm4::kCopyData, {2u << 8, pm4::kUserData0, 0, low(memory + 1), high(memory)}) +
         packet(pm4::kSetShRegIndex, {engine_2, ~0u}) +
         packet(pm4::kCopyData, {2u << 8, engine_2 + pm4::kShBase, 0, low(memory + 2), high(memory)}) +
         release(memory + 3, 1));
  ASSERT_TRUE(becomes(memory + 3, 1));
  EXPECT_EQ(memory[0], 3u << 4);
  EXPECT_EQ(memory[1], ~0u) << "no mask of units";
  EXPECT_EQ(memory[2], ~0u);
  EXPECT_EQ(failure(packet(pm4::kSetShRegIndex, {engine_2 | 1u << 28, 0})).field, "index");
  EXPECT_EQ(failure(packet(pm4::kSetShRegIndex, {engine_2 | 1u << 16, 0})).field, "reg_offset");
}

// SH_MEM_CONFIG.ALIGNMENT_MODE governs the dispatches behind it (guide 9.5).
TEST_F(Pm4Test, ShMemConfigSetsTheAlignmentMode) {
  const char* const load =
      "v_mov_b32 v1, 0\nglobal_load_b32 v2, v1, s[2:3] offset:2\ns_waitcnt vmcnt(0)\ns_mov_b32 exec_lo, 1\n"
      "s_lshl_b32 s6, s4, 2\nv_mov_b32 v1, s6\nglobal_store_b32 v1, v2, s[2:3]";
  const auto configure = [](uint32_t value) {
    return packet(pm4::kWriteData, {0 << 8, pm4::kShMemConfig, 0, value});
  };
  const Words start =
      packet(pm4::kDispatchDirect, {1, 1, 1, pm4::kComputeShaderEnable | pm4::kStartAtZero | pm4::kWave32});
  memory[0] = 0x44332211, memory[1] = 0x88776655;
  submit(kernel_registers(32, 10, true, load) + start + set(pm4::kUserData0 + 4, {11}) +
         configure(0 << 2 | 3u << 14) + start + packet(pm4::kEventWrite, {pm4::kCsPartialFlush | 4 << 8}) +
         packet(pm4::kCopyData, {0 | 5 << 8, pm4::kShMemConfig, 0, low(memory + 12), high(memory + 12)}) +
         release(memory + 20, 1));
  ASSERT_TRUE(becomes(memory + 20, 1));
  EXPECT_EQ(memory[10], 0x66554433u) << "UNALIGNED, as the driver sets it";
  EXPECT_EQ(memory[11], 0x44332211u) << "DWORD";
  EXPECT_EQ(memory[12], 3u << 14);
  const QueueError strict = failure(kernel_registers(32, 10, true, load) + configure(2 << 2) + start);
  EXPECT_NE(strict.message.find("alignment mode is STRICT"), std::string::npos) << strict.message;
  EXPECT_EQ(failure(configure(1)).field, "dst_mmreg_addr");
  EXPECT_EQ(failure(packet(pm4::kSetShReg, {pm4::kShMemConfig - pm4::kShBase, 0})).field, "reg_offset");
}

// Guide table 11: with ORDERED_APPEND_ENBL the work-group info has the wave's number in bits 17:6.
TEST_F(Pm4Test, OrderedAppendNumbersWaves) {
  const char* const info =
      "s_lshl_b32 s7, s4, 2\nv_mov_b32 v1, s7\nv_mov_b32 v2, s5\ns_mov_b32 exec_lo, 1\n"
      "global_store_b32 v1, v2, s[2:3]";
  Words words = kernel_registers(32, 0, true, info);
  words = words + set(pm4::kPgmRsrc2, {4u << 1 | 1u << 7 | 1u << 10});
  for (const uint32_t ordered : {0u, pm4::kOrderedAppend}) {
    submit(words +
           packet(pm4::kDispatchDirect,
                  {8, 1, 1, pm4::kComputeShaderEnable | pm4::kStartAtZero | pm4::kWave32 | ordered}) +
           release(memory + 100, 7 + ordered));
    ASSERT_TRUE(becomes(memory + 100, 7 + ordered));
    for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(memory[i] >> 6 & 0xfff, ordered ? i : 0) << ordered;
  }
}

TEST_F(Pm4Test, DispatchStartsAtTheGroupOfComputeStart) {
  submit(kernel_registers(32, 0, false) + set(pm4::kStartX, {3, 0, 0}) +
         packet(pm4::kDispatchDirect, {6, 1, 1, pm4::kComputeShaderEnable}) + release(memory + 50, 1));
  ASSERT_TRUE(becomes(memory + 50, 1));
  for (uint32_t i = 1; i < 10; ++i) EXPECT_EQ(memory[i], i >= 3 && i < 6 ? i : 0u);
}

// It waits for no dispatch before it, which may wait for what it does.
TEST_F(Pm4Test, DispatchIndirectOverlapsWithWhatIsBeforeIt) {
  const char* const spin =
      "v_mov_b32 v1, 0\nagain:\nglobal_load_b32 v2, v1, s[2:3] offset:1200 glc dlc\ns_waitcnt vmcnt(0)\n"
      "v_readfirstlane_b32 s6, v2\ns_cmp_eq_u32 s6, 0\ns_cbranch_scc1 again";
  memory[10] = memory[11] = memory[12] = 1;
  constexpr uint32_t kInitiator = pm4::kComputeShaderEnable | pm4::kStartAtZero | pm4::kWave32;
  submit(kernel_registers(32, 0, true, spin) + packet(pm4::kDispatchDirect, {1, 1, 1, kInitiator}) +
         kernel_registers(32, 300) +
         packet(pm4::kDispatchIndirect, {low(memory + 10), high(memory + 10), kInitiator}) +
         release(memory, 1));
  EXPECT_TRUE(becomes(memory, 1, 5));
  EXPECT_EQ(memory[300], 300u);
}

TEST_F(Pm4Test, DispatchIndirectReadsItsGridWhenItComes) {
  memory[10] = memory[11] = memory[12] = 0;
  submit(kernel_registers(32, 200) + write_dword(memory + 10, 5) + write_dword(memory + 11, 1) +
         write_dword(memory + 12, 1) +
         packet(pm4::kDispatchIndirect,
                {low(memory + 10), high(memory + 10), pm4::kComputeShaderEnable | pm4::kWave32}) +
         packet(pm4::kEventWrite, {pm4::kCsPartialFlush | 4 << 8}) + write_dword(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  for (uint32_t i = 0; i < 5; ++i) EXPECT_EQ(memory[200 + i], 200 + i);
  EXPECT_EQ(memory[205], 0u);
}

TEST_F(Pm4Test, ThreadDimensionsCountWorkItems) {
  submit(kernel_registers(64, 300) +
         packet(pm4::kDispatchDirect,
                {65, 1, 1,
                 pm4::kComputeShaderEnable | pm4::kThreadDimensions | pm4::kPartialGroups | pm4::kWave32}) +
         release(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  EXPECT_EQ(memory[300], 300u);
  EXPECT_EQ(memory[301], 301u);
  EXPECT_EQ(memory[302], 0u);
}

// A kernel that adds 1 to memory[500] for each wave and puts the items of the first wave of group `s5` into
// memory[510 + s5].
constexpr const char* kCountWaves =
    "s_bcnt1_i32_b64 s6, exec\ns_mov_b64 exec, 1\nv_mov_b32 v1, 2000\nv_mov_b32 v2, 1\n"
    "global_atomic_add_u32 v1, v2, s[2:3]\ns_add_i32 s7, s5, 510\ns_lshl_b32 s7, s7, 2\nv_mov_b32 v1, s7\n"
    "v_mov_b32 v2, s6\nglobal_atomic_add_u32 v1, v2, s[2:3]";

TEST_F(Pm4Test, WavesAreAsWideAsTheInitiatorSays) {
  for (const bool wave32 : {true, false}) {
    memory[500] = 0;
    submit(kernel_registers(64, 0, wave32, kCountWaves) +
           packet(pm4::kDispatchDirect, {1, 1, 1, pm4::kComputeShaderEnable | (wave32 ? pm4::kWave32 : 0)}) +
           release(memory, wave32 + 1u));
    ASSERT_TRUE(becomes(memory, wave32 + 1u));
    EXPECT_EQ(memory[500], wave32 ? 2u : 1u);
  }
}

TEST_F(Pm4Test, PartialGroups) {
  const uint32_t enable = pm4::kComputeShaderEnable | pm4::kWave32;
  const struct {
    uint32_t dimension, threads, initiator, first, last;
  } cases[] = {
      // 20 work-items in groups of 16: the second group is full unless partial groups are enabled.
      {20, 16, enable | pm4::kThreadDimensions, 16, 16},
      {20, 16, enable | pm4::kThreadDimensions | pm4::kPartialGroups, 16, 4},
      // Two groups of 16, the last one as NUM_THREAD_PARTIAL says, if that is enabled.
      {2, 16 | 5 << 16, enable, 16, 16},
      {2, 16 | 5 << 16, enable | pm4::kPartialGroups, 16, 5},
  };
  uint32_t done = 0;
  for (const auto& c : cases) {
    memory[510] = memory[511] = memory[512] = 0;
    submit(kernel_registers(16, 0, true, kCountWaves) + set(pm4::kNumThreadX, {c.threads, 1, 1}) +
           packet(pm4::kDispatchDirect, {c.dimension, 1, 1, c.initiator}) + release(memory, ++done));
    ASSERT_TRUE(becomes(memory, done));
    EXPECT_EQ(memory[510], c.first) << done;
    EXPECT_EQ(memory[511], c.last) << done;
    EXPECT_EQ(memory[512], 0u) << done;
  }
}

TEST_F(Pm4Test, StartAtZeroIgnoresComputeStart) {
  submit(
      kernel_registers(32, 100) + set(pm4::kStartX, {3, 0, 0}) +
      packet(pm4::kDispatchDirect, {5, 1, 1, pm4::kComputeShaderEnable | pm4::kStartAtZero | pm4::kWave32}) +
      release(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  for (uint32_t i = 0; i < 5; ++i) EXPECT_EQ(memory[100 + i], 100 + i);
}

TEST_F(Pm4Test, WhatComesAtTheEndOfThePipeWaitsForDispatches) {
  const char* const spin =
      "again: global_load_b32 v2, v1, s[2:3] glc\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s6, v2\n"
      "s_cmp_eq_u32 s6, 0\ns_cbranch_scc1 again";
  const Words ends[] = {release(memory + 1, 1), packet(pm4::kEventWrite, {pm4::kCsPartialFlush | 4 << 8}) +
                                                    write_dword(memory + 1, 1)};
  for (const Words& end : ends) {
    store_shared<uint32_t>(memory, 0);
    store_shared<uint32_t>(memory + 1, 0);
    submit(kernel_registers(32, 0, true, spin) +
           packet(pm4::kDispatchDirect, {8, 1, 1, pm4::kComputeShaderEnable | pm4::kWave32}) + end);
    EXPECT_FALSE(becomes(memory + 1, 1, 0.05));
    store_shared<uint32_t>(memory, 1);
    EXPECT_TRUE(becomes(memory + 1, 1));
  }
}

// RELEASE_MEM happens at the end of the pipe; the command processor goes on. Here with what the dispatch
// before it waits for, and with a dispatch that it does not wait for.
TEST_F(Pm4Test, PacketsBehindReleaseMemGoOn) {
  const char* const spin =
      "again: global_load_b32 v2, v1, s[2:3] glc\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s6, v2\n"
      "s_cmp_eq_u32 s6, 0\ns_cbranch_scc1 again";
  const Words start = packet(pm4::kDispatchDirect, {1, 1, 1, pm4::kComputeShaderEnable | pm4::kWave32});
  const Words registers = kernel_registers(32, 0, true, spin);
  const Words forever = set(pm4::kUserData0, {0, 0, low(memory + 64), high(memory + 64)});
  submit(registers + start + release(memory + 1, 1) + forever + start + release(memory + 2, 1) +
         wait(memory + 3, 1) + write_dword(memory, 1));
  EXPECT_FALSE(becomes(memory + 1, 1, 0.05));
  store_shared<uint32_t>(memory + 3, 1);
  m.processor->waiters().notify();
  EXPECT_TRUE(becomes(memory + 1, 1, 5));
  EXPECT_FALSE(becomes(memory + 2, 1, 0.05));
  store_shared<uint32_t>(memory + 64, 1);
  EXPECT_TRUE(becomes(memory + 2, 1, 5));
}

TEST_F(Pm4Test, ReleaseMemWritesWhatItIsAskedFor) {
  const auto with = [&](uint32_t select, uint32_t* to) {
    return packet(pm4::kReleaseMem,
                  {pm4::kBottomOfPipeTs | 5 << 8, select << 29, low(to), high(to), 11, 12, 0});
  };
  const uint64_t before = nanoseconds();
  submit(with(0, memory + 2) + with(1, memory + 4) + with(2, memory + 6) + with(3, memory + 8) +
         write_dword(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  EXPECT_EQ(memory[2] | memory[3], 0u);
  EXPECT_EQ(memory[4], 11u);
  EXPECT_EQ(memory[5], 0u);
  EXPECT_EQ(memory[6], 11u);
  EXPECT_EQ(memory[7], 12u);
  uint64_t clock;
  std::memcpy(&clock, memory + 8, 8);
  EXPECT_GE(clock, before);
  EXPECT_LE(clock, nanoseconds());
}

TEST_F(Pm4Test, WriteDataToOneAddressOrToSeveral) {
  submit(packet(pm4::kWriteData, {2 << 8, low(memory + 8), high(memory + 8), 1, 2, 3}) +
         packet(pm4::kWriteData, {2 << 8 | 1 << 16, low(memory + 16), high(memory + 16), 4, 5, 6}) +
         write_dword(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(memory[8 + i], i + 1);
  EXPECT_EQ(memory[16], 6u);
  EXPECT_EQ(memory[17], 0u);
}

TEST_F(Pm4Test, ANopOfTheLargestCountIsOneDword) {
  submit(Words{packet(pm4::kNop, {0})[0] | 0x3fff << 16} + write_dword(memory, 1));
  EXPECT_TRUE(becomes(memory, 1));
}

TEST_F(Pm4Test, AnEmptyGridIsNoWork) {
  submit(kernel_registers(64, 300) +
         packet(pm4::kDispatchDirect, {0, 1, 1, pm4::kComputeShaderEnable | pm4::kWave32}) +
         release(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  EXPECT_EQ(memory[300], 0u);
}

TEST_F(Pm4Test, WaitRegMemWaitsForMemory) {
  submit(wait(memory, 5) + write_dword(memory + 1, 1));
  EXPECT_FALSE(becomes(memory + 1, 1, 0.03));
  // A plain store of the host, of which nobody is told: the packet looks again by itself.
  store_shared<uint32_t>(memory, 5);
  EXPECT_TRUE(becomes(memory + 1, 1));
  // Another queue's packet.
  const auto other = make();
  submit(wait(memory + 2, 9, 5) + write_dword(memory + 3, 1));
  EXPECT_TRUE(other->submit(write_dword(memory + 2, 10), in_seconds(20)));
  EXPECT_TRUE(becomes(memory + 3, 1));
}

TEST_F(Pm4Test, WaitRegMemComparesUnderItsMask) {
  memory[0] = 0xab05;
  Words masked = wait(memory, 5);
  masked[5] = 0xff;
  submit(masked + write_dword(memory + 1, 1));
  EXPECT_TRUE(becomes(memory + 1, 1));
}

TEST_F(Pm4Test, WaitRegMem64ComparesAllBits) {
  submit(packet(pm4::kWaitRegMem64, {3 | 1 << 4, low(memory), high(memory), 1, 2, ~0u, ~0u, 4}) +
         write_dword(memory + 4, 1));
  store_shared<uint32_t>(memory, 1);
  EXPECT_FALSE(becomes(memory + 4, 1, 0.03));
  store_shared<uint32_t>(memory + 1, 2);
  EXPECT_TRUE(becomes(memory + 4, 1));
}

TEST_F(Pm4Test, CopyDataMovesMemoryRegistersAndClocks) {
  memory[0] = 0x1234;
  memory[1] = 0x5678;
  const uint32_t* from = memory;
  uint32_t* to = memory + 16;
  submit(packet(pm4::kCopyData, {1 | 1 << 16 | 5 << 8, low(from), high(from), low(to), high(to)}) +
         packet(pm4::kCopyData, {1, low(from), high(from), pm4::kUserData0, 0}) +
         packet(pm4::kCopyData, {0 | 2 << 8, pm4::kUserData0, 0, low(to + 2), high(to + 2)}) +
         packet(pm4::kCopyData, {5 | 2 << 8 | 1 << 16, 42, 43, low(to + 4), high(to + 4)}) +
         packet(pm4::kCopyData, {9 | 2 << 8 | 1 << 16, 0, 0, low(to + 6), high(to + 6)}) +
         write_dword(memory + 2, 1));
  ASSERT_TRUE(becomes(memory + 2, 1));
  EXPECT_EQ(to[0], 0x1234u);
  EXPECT_EQ(to[1], 0x5678u);
  EXPECT_EQ(to[2], 0x1234u);
  EXPECT_EQ(to[4], 42u);
  EXPECT_EQ(to[5], 43u);
  EXPECT_NE(to[6] | to[7], 0u);
}

TEST_F(Pm4Test, IndirectBuffersCallAndChain) {
  uint32_t* second = memory + 600;
  uint32_t* first = memory + 512;
  const Words in_second = write_dword(memory + 1, 11);
  std::copy(in_second.begin(), in_second.end(), second);
  const Words in_first =
      write_dword(memory, 10) + packet(pm4::kNop, {0xdead, 0xbeef}) + Words{0xffff1002, 0x80000000} +
      packet(pm4::kIndirectBuffer,
             {low(second), high(second), static_cast<uint32_t>(in_second.size()) | 1 << 20 | 1 << 23}) +
      write_dword(memory + 3, 13);  // behind the chain: not reached
  std::copy(in_first.begin(), in_first.end(), first);
  submit(packet(pm4::kIndirectBuffer,
                {low(first), high(first), static_cast<uint32_t>(in_first.size()) | 1 << 23}) +
         write_dword(memory + 2, 12));
  ASSERT_TRUE(becomes(memory + 2, 12));
  EXPECT_EQ(memory[0], 10u);
  EXPECT_EQ(memory[1], 11u);
  EXPECT_EQ(memory[3], 0u);
}

// A queue has its turn before it is taken away, but not at the price of those above it.
TEST_F(Pm4Test, OneThatIsBusyForEverKeepsNoneOfLowerPriorityWhereItIs) {
  uint32_t* const circle = memory + 512;
  const Words words = write_dword(memory, 10) +
                      packet(pm4::kIndirectBuffer, {low(circle), high(circle), 9 | 1 << 20 | 1 << 23});
  std::copy(words.begin(), words.end(), circle);
  submit(packet(pm4::kIndirectBuffer, {low(circle), high(circle), 9 | 1 << 23}));
  ASSERT_TRUE(becomes(memory, 10));
  RingQueueOptions options;
  options.priority = -1;
  const auto lower = m.processor->create_pm4_queue(std::move(options));
  m.processor->suspend(*lower);
  m.processor->destroy(queue);
}

TEST_F(Pm4Test, BuffersAreNestedSixteenDeep) {
  for (const uint32_t depth : {16u, 17u}) {
    for (uint32_t i = 0; i < depth; ++i) {
      uint32_t* buffer = memory + 512 + 8 * i;
      const Words words =
          i + 1 == depth ? write_dword(memory, depth)
                         : packet(pm4::kIndirectBuffer, {low(buffer + 8), high(buffer + 8), 5 | 1 << 23});
      std::copy(words.begin(), words.end(), buffer);
    }
    // Five dwords each: the last one's packet, the others' with a filler behind it.
    for (uint32_t i = 0; i + 1 < depth; ++i) memory[512 + 8 * i + 4] = 0x80000000;
    const Words call = packet(pm4::kIndirectBuffer, {low(memory + 512), high(memory + 512), 5 | 1 << 23});
    if (depth == 16) {
      submit(call + write_dword(memory + 1, depth));
      EXPECT_TRUE(becomes(memory + 1, depth));
      EXPECT_EQ(memory[0], depth);
    } else {
      EXPECT_EQ(failure(call).field, "ib_base_lo");
    }
  }
}

TEST_F(Pm4Test, ReleaseMemRaisesAnInterrupt) {
  submit(release(memory, 3, 2, 0x55));
  const auto interrupt = m.processor->interrupts().wait(in_seconds(20));
  ASSERT_TRUE(interrupt);
  EXPECT_EQ(interrupt->source, Interrupt::Source::end_of_pipe);
  EXPECT_EQ(interrupt->data, 0x55u);
  EXPECT_EQ(memory[0], 3u);
}

TEST_F(Pm4Test, AcquireMemForgetsOldInstructions) {
  // The kernel's code is in memory that the host overwrites: s_mov_b32 of another constant.
  const Words registers = kernel_registers(32, 400);
  const Words dispatch = packet(pm4::kDispatchDirect, {1, 1, 1, pm4::kComputeShaderEnable | pm4::kWave32});
  submit(registers + dispatch + release(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  EXPECT_EQ(memory[400], 400u);
  const uint64_t entry = (registers[2] | uint64_t{registers[3]} << 32) << 8;
  // s_add_i32 s4, s4, s5 becomes s_sub_i32 s4, s4, s5 (with group id 1: 400 - 1).
  auto* code = reinterpret_cast<uint32_t*>(entry);
  *code = (*code & ~(0x7fu << 23)) | 3u << 23;
  submit(packet(pm4::kAcquireMem, {0, ~0u, 0xff, 0, 0, 10, 1}) + set(pm4::kStartX, {1, 0, 0}) +
         packet(pm4::kDispatchDirect, {2, 1, 1, pm4::kComputeShaderEnable | pm4::kWave32}) +
         release(memory, 2));
  ASSERT_TRUE(becomes(memory, 2));
  EXPECT_EQ(memory[399], 399u);
}

TEST_F(Pm4Test, TheRingWrapsAround) {
  queue = make(32);
  for (uint32_t i = 1; i <= 500; ++i) submit(write_dword(memory, i));
  EXPECT_TRUE(becomes(memory, 500));
}

TEST_F(Pm4Test, AKernelsFaultEndsTheQueue) {
  Words registers = kernel_registers(32, 0);
  const QueueError e =
      failure(registers + set(pm4::kUserData0 + 2, {0, 0}) +
              packet(pm4::kDispatchDirect, {1, 1, 1, pm4::kComputeShaderEnable | pm4::kWave32}));
  EXPECT_EQ(e.kind, QueueError::Kind::kernel_fault);
  EXPECT_NE(e.message.find("global_store_b32"), std::string::npos) << e.message;
}

TEST_F(Pm4Test, WhatIsWrongIsNamed) {
  const uint32_t enable = pm4::kComputeShaderEnable;
  const struct {
    const char* field;
    Words words;
  } cases[] = {
      {"header", {0x00001234}},
      {"header", {packet(pm4::kNop, {0})[0] | 1, 0}},
      {"opcode", packet(0x2d, {0})},
      {"count", {pm4::header(pm4::kNop, 9), 0, 0}},
      {"count", packet(pm4::kDispatchDirect, {1, 1, 1})},
      {"reg_offset", set(0x2c08, {0})},
      {"reg_offset", packet(pm4::kSetShReg, {0x10000, 0})},
      {"dispatch_initiator", packet(pm4::kDispatchDirect, {1, 1, 1, 0})},
      {"COMPUTE_NUM_THREAD_X", packet(pm4::kDispatchDirect, {1, 1, 1, enable})},
      {"COMPUTE_PGM_LO", set(pm4::kNumThreadX, {1, 1, 1}) + packet(pm4::kDispatchDirect, {1, 1, 1, enable})},
      {"address", packet(pm4::kDispatchIndirect, {64, 0, enable})},
      {"event_type", packet(pm4::kEventWrite, {0x3f})},
      {"event_type", packet(pm4::kReleaseMem, {0, 0, 0, 0, 0, 0, 0})},
      {"address", release(nullptr, 1)},
      {"data_sel", packet(pm4::kReleaseMem, {0x28, 5u << 29, 0, 0, 0, 0, 0})},
      {"mem_poll_addr", wait(nullptr, 1)},
      {"mem_poll_addr", wait(reinterpret_cast<void*>(2), 1)},
      {"function", wait(memory, 1, 7)},
      {"dst_mem_addr", write_dword(nullptr, 1)},
      {"dst_sel", packet(pm4::kWriteData, {3 << 8, 0, 0, 0})},
      {"src_sel", packet(pm4::kCopyData, {3, 0, 0, 0, 0})},
      {"src_addr", packet(pm4::kCopyData, {1, 64, 0, 0, 0})},
      {"ib_base", packet(pm4::kIndirectBuffer, {64, 0, 16})},
      {"ib_base_lo", packet(pm4::kIndirectBuffer, {2, 0, 16})},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.field);
    const QueueError e = failure(test.words);
    EXPECT_EQ(e.field, test.field) << e.message;
    EXPECT_NE(e.message.find("PM4 queue " + std::to_string(e.queue) + ", dword "), std::string::npos)
        << e.message;
  }
}

TEST_F(Pm4Test, AnEndlessBufferHoldsNobodyUpAndEnds) {
  uint32_t* buffer = memory + 512;
  const Words loop = packet(pm4::kIndirectBuffer, {low(buffer), high(buffer), 4 | 1 << 20 | 1 << 23});
  std::copy(loop.begin(), loop.end(), buffer);
  submit(packet(pm4::kIndirectBuffer, {low(buffer), high(buffer), 4 | 1 << 23}));
  const auto other = make();
  EXPECT_TRUE(other->submit(write_dword(memory, 1), in_seconds(20)));
  EXPECT_TRUE(becomes(memory, 1));
  m.processor->destroy(queue);
}

TEST_F(Pm4Test, ABufferInAnAqlQueue) {
  uint32_t* buffer = memory + 512;
  const Words words = wait(memory, 1) + write_dword(memory + 1, 5);
  std::copy(words.begin(), words.end(), buffer);
  const auto aql = m.queue();
  const uint64_t done = m.processor->signals().create(1);
  AqlPacket aql_packet{};
  aql_packet.pm4_ib.header = header_of(PacketType::vendor_specific);
  aql_packet.pm4_ib.format = static_cast<uint8_t>(VendorFormat::pm4_ib);
  const Words jump = packet(pm4::kIndirectBuffer,
                            {low(buffer), high(buffer), static_cast<uint32_t>(words.size()) | 1 << 23});
  std::copy(jump.begin(), jump.end(), aql_packet.pm4_ib.jump);
  aql_packet.pm4_ib.remaining_dwords = 10;
  aql_packet.pm4_ib.completion_signal = done;
  command::submit(*aql, aql_packet);
  EXPECT_FALSE(m.processor->signals().wait(done, Condition::equal, 0, in_seconds(0.03)));
  store_shared<uint32_t>(memory, 1);
  EXPECT_TRUE(m.processor->signals().wait(done, Condition::equal, 0, in_seconds(20)));
  EXPECT_EQ(memory[1], 5u);
}

}  // namespace
}  // namespace lockstep::command
