// PM4 packets of drivers that are neither dispatches nor what runtimes send every time: conditions, atomics,
// copies, registers of the device, events.
#include <cstring>

#include "command/pm4.h"
#include "tests/command/machine_under_test.h"
#include "tests/command/pm4_words.h"

namespace lockstep::command {
namespace {

using Pm4Packets = RingQueueTest<Pm4Queue>;

Words set_user_config(uint32_t number, Words values) {
  return packet(pm4::kSetUconfigReg, Words{number - pm4::kUconfigBase} + values);
}
Words register_to(uint32_t number, void* to) {
  return packet(pm4::kCopyData, {0 | 2 << 8, number, 0, low(to), high(to)});
}
Words atomic(uint32_t number, void* to, uint64_t operand, uint64_t compared = 0, uint32_t command = 0) {
  return packet(pm4::kAtomicMem, {number | command << 8, low(to), high(to), static_cast<uint32_t>(operand),
                                  static_cast<uint32_t>(operand >> 32), static_cast<uint32_t>(compared),
                                  static_cast<uint32_t>(compared >> 32), 10});
}
Words dma(uint32_t control, Words from, const void* to, uint32_t command) {
  return packet(pm4::kDmaData, Words{control} + from + Words{low(to), high(to), command});
}
Words address(const void* of) {
  return {low(of), high(of)};
}
Words condition(const void* at, uint32_t dwords) {
  return packet(pm4::kCondExec, {low(at), high(at), 0, dwords});
}
constexpr uint32_t kFromMemory = 3u << 29, kToMemory = 3u << 20, kFromData = 2u << 29;

TEST_F(Pm4Packets, CondExecLeavesOutWhatFollows) {
  const Words one = write_dword(memory + 8, 1), two = write_dword(memory + 9, 2);
  memory[1] = 0;
  memory[2] = 7;
  const auto dwords = static_cast<uint32_t>(one.size());
  submit(condition(memory + 1, dwords) + one + two + condition(memory + 2, dwords) +
         write_dword(memory + 10, 3) + write_dword(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  EXPECT_EQ(memory[8], 0u) << "memory is 0";
  EXPECT_EQ(memory[9], 2u) << "the packet behind";
  EXPECT_EQ(memory[10], 3u) << "memory is not 0";
}

TEST_F(Pm4Packets, RegistersAreLoadedFromMemory) {
  for (uint32_t i = 0; i < 8; ++i) memory[16 + i] = 100 + i;
  submit(set(pm4::kUserData0, Words(16, 7)) +
         packet(pm4::kLoadShRegIndex, address(memory + 16) + Words{pm4::kUserData0 + 2 - pm4::kShBase, 3}) +
         packet(pm4::kLoadShRegIndex, address(memory + 16) + Words{pm4::kUserData0 + 9 - pm4::kShBase, 0}));
  for (uint32_t i = 0; i < 16; ++i) submit(register_to(pm4::kUserData0 + i, memory + 32 + i));
  submit(write_dword(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  for (uint32_t i = 0; i < 16; ++i) EXPECT_EQ(memory[32 + i], i >= 2 && i < 5 ? 98 + i : 7) << i;
}

TEST_F(Pm4Packets, TimeStampsOfBothEndsOfThePipe) {
  auto* const times = reinterpret_cast<uint64_t*>(memory + 16);
  const auto stamp = [&](uint32_t ends, void* bottom, void* top) {
    return packet(pm4::kTimestamp, Words{ends} + address(bottom) + address(top));
  };
  submit(stamp(2, nullptr, times) + stamp(1, times + 1, nullptr) + stamp(3, times + 2, times + 3) +
         stamp(0, nullptr, nullptr) + release(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  EXPECT_GT(times[0], 0u);
  EXPECT_LE(times[0], times[1]);
  EXPECT_LE(times[1], times[2]);
  EXPECT_LE(times[3], times[2]) << "the top is first";
  EXPECT_LE(times[1], times[3]);
}

TEST_F(Pm4Packets, CondExecInABuffer) {
  uint32_t* const buffer = memory + 512;
  const Words one = write_dword(memory + 8, 1);
  const auto dwords = static_cast<uint32_t>(one.size());
  const Words words = condition(memory + 1, 2 * dwords) + one + one + write_dword(memory + 9, 2) +
                      condition(memory + 1, dwords) + one;
  std::copy(words.begin(), words.end(), buffer);
  submit(
      packet(pm4::kIndirectBuffer, address(buffer) + Words{static_cast<uint32_t>(words.size()) | 1u << 23}) +
      write_dword(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  EXPECT_EQ(memory[8], 0u);
  EXPECT_EQ(memory[9], 2u);
  // More than the buffer has.
  const Words beyond = condition(memory + 1, dwords + 1) + one;
  std::copy(beyond.begin(), beyond.end(), buffer);
  EXPECT_EQ(failure(packet(pm4::kIndirectBuffer,
                           address(buffer) + Words{static_cast<uint32_t>(beyond.size()) | 1u << 23}))
                .field,
            "exec_count");
}

// What is left out may come later, and be anything.
TEST_F(Pm4Packets, CondExecOverTheEndOfTheRing) {
  queue = make(64);
  for (uint32_t i = 0; i < 40; ++i) {
    submit(condition(memory + 1, 20));
    submit(Words(20, 0x12345678));
    submit(write_dword(memory, i + 1));
    ASSERT_TRUE(becomes(memory, i + 1)) << i;
  }
}

TEST_F(Pm4Packets, RewindWaitsUntilItIsValid) {
  uint32_t* const buffer = memory + 512;
  const Words words = packet(pm4::kRewind, {0}) + write_dword(memory, 1);
  std::copy(words.begin(), words.end(), buffer);
  submit(
      packet(pm4::kIndirectBuffer, address(buffer) + Words{static_cast<uint32_t>(words.size()) | 1u << 23}));
  EXPECT_FALSE(becomes(memory, 1, 0.03));
  store_shared<uint32_t>(buffer + 1, 1u << 31);
  EXPECT_TRUE(becomes(memory, 1));
}

TEST_F(Pm4Packets, ConditionalBuffers) {
  uint32_t* const first = memory + 512;
  uint32_t* const second = memory + 600;
  const Words write = write_dword(memory + 8, 1), other = write_dword(memory + 9, 1);
  std::copy(write.begin(), write.end(), first);
  std::copy(other.begin(), other.end(), second);
  const auto dwords = static_cast<uint32_t>(write.size());
  // 64 bits of memory under a mask that leaves out the lowest byte; greater than or equal.
  memory[2] = 0xff;
  memory[3] = 5;
  const auto choose = [&](uint32_t mode, uint32_t reference) {
    return packet(pm4::kIndirectBuffer, Words{mode | 5u << 8} + address(memory + 2) +
                                            Words{~0xffu, ~0u, 0, reference} + address(first) +
                                            Words{dwords} + address(second) + Words{dwords});
  };
  submit(choose(2, 5) + write_dword(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  EXPECT_EQ(memory[8], 1u);
  EXPECT_EQ(memory[9], 0u);
  memory[8] = 0;
  submit(choose(1, 6) + write_dword(memory, 2));
  ASSERT_TRUE(becomes(memory, 2));
  EXPECT_EQ(memory[8] | memory[9], 0u) << "if, then: nothing else";
  submit(choose(2, 6) + write_dword(memory, 3));
  ASSERT_TRUE(becomes(memory, 3));
  EXPECT_EQ(memory[8], 0u);
  EXPECT_EQ(memory[9], 1u);
  EXPECT_EQ(failure(choose(0, 5)).field, "mode");
}

TEST_F(Pm4Packets, CondWritePollsAndWrites) {
  memory[1] = 0x15;
  const auto write_if = [&](uint32_t function, uint32_t reference, uint32_t* to) {
    return packet(pm4::kCondWrite, Words{function | 1 << 4 | 1 << 8} + address(memory + 1) +
                                       Words{reference, 0xf} + address(to) + Words{7});
  };
  submit(write_if(3, 5, memory + 8) + write_if(4, 5, memory + 9) +
         packet(pm4::kCondWrite, {3, pm4::kHdpFlushDone, 0, ~0u, ~0u, pm4::kUserData0, 0, 9}) +
         register_to(pm4::kUserData0, memory + 10) + write_dword(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  EXPECT_EQ(memory[8], 7u);
  EXPECT_EQ(memory[9], 0u);
  EXPECT_EQ(memory[10], 9u) << "registers on both sides";
  EXPECT_EQ(failure(packet(pm4::kCondWrite, {0 | 2 << 8, pm4::kUserData0, 0, 0, 0, 0, 0, 0})).field,
            "write_space");
}

TEST_F(Pm4Packets, AtomicMemDoesWhatTheL2Does) {
  const struct {
    uint32_t number;
    uint64_t before, operand, after;
  } cases[] = {
      {0x07, 5, 9, 9},                    // swap
      {0x0f, 0xffffffff, 2, 1},           // add
      {0x10, 1, 2, 0xffffffff},           // subtract
      {0x11, 3, 0xfffffffe, 0xfffffffe},  // signed minimum
      {0x12, 3, 0xfffffffe, 3},           // unsigned minimum
      {0x13, 3, 0xfffffffe, 3},           // signed maximum
      {0x14, 3, 0xfffffffe, 0xfffffffe},  // unsigned maximum
      {0x15, 0xc, 0xa, 0x8},              // and
      {0x16, 0xc, 0xa, 0xe},              // or
      {0x17, 0xc, 0xa, 0x6},              // xor
      {0x18, 4, 5, 5},
      {0x18, 5, 5, 0},  // increment
      {0x19, 0, 5, 5},
      {0x19, 6, 5, 5},
      {0x19, 5, 5, 4},                                  // decrement
      {0x2f, 0xffffffff, 2, 0x1'0000'0001},             // add, 64 bits
      {0x30, 0, 1, ~uint64_t{0}},                       // subtract
      {0x31, 1, uint64_t{1} << 63, uint64_t{1} << 63},  // signed minimum
      {0x34, 1, uint64_t{1} << 63, uint64_t{1} << 63},  // unsigned maximum
      {0x38, 0xffffffff, ~uint64_t{0}, 0x1'0000'0000},  // increment
  };
  uint32_t done = 0;
  for (const auto& test : cases)
    for (const uint32_t no_return : {0u, 0x40u}) {
      const bool wide = test.number & 0x20;
      const uint64_t guard = 0xabcd'0000'0000'0000 & (wide ? 0 : ~uint64_t{0});
      const uint64_t before = test.before | guard;
      std::memcpy(memory + 16, &before, 8);
      submit(packet(pm4::kCopyData, Words{5 | 2 << 8 | 1 << 16, 77, 78} + address(memory + 18)) +
             atomic(test.number | no_return, memory + 16, test.operand) +
             packet(pm4::kCopyData, Words{6 | 2 << 8 | 1 << 16, 0, 0} + address(memory + 18)) +
             write_dword(memory, ++done));
      ASSERT_TRUE(becomes(memory, done));
      uint64_t after, returned;
      std::memcpy(&after, memory + 16, 8);
      std::memcpy(&returned, memory + 18, 8);
      EXPECT_EQ(after, test.after | guard) << std::hex << test.number;
      if (!no_return) EXPECT_EQ(returned, test.before) << std::hex << test.number;
    }
}

TEST_F(Pm4Packets, AtomicMemComparesAndSwaps) {
  memory[16] = 5;
  memory[17] = 1;
  submit(atomic(0x08, memory + 16, 9, 4) + register_to(pm4::kUserData0, memory + 1) + write_dword(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  EXPECT_EQ(memory[16], 5u) << "is not 4";
  submit(atomic(0x28, memory + 16, 9, 0x1'0000'0005) + write_dword(memory, 2));
  ASSERT_TRUE(becomes(memory, 2));
  EXPECT_EQ(memory[16], 9u);
  EXPECT_EQ(memory[17], 0u);
  // A lock: taken when it is free.
  submit(atomic(0x48, memory + 16, 3, 0, 1) + write_dword(memory, 3));
  EXPECT_FALSE(becomes(memory, 3, 0.03));
  EXPECT_EQ(load_shared<uint32_t>(memory + 16), 9u);
  store_shared<uint32_t>(memory + 16, 0);
  EXPECT_TRUE(becomes(memory, 3));
  EXPECT_EQ(memory[16], 3u);
}

TEST_F(Pm4Packets, DmaDataCopiesAndFills) {
  auto* const bytes = reinterpret_cast<uint8_t*>(memory);
  for (uint32_t i = 0; i < 100; ++i) bytes[4001 + i] = static_cast<uint8_t>(i + 1);
  submit(dma(kFromMemory | kToMemory, address(bytes + 4001), bytes + 5003, 99) +
         dma(0, address(bytes + 4001), bytes + 3990, 50) +  // downwards, over itself
         dma(kFromData | kToMemory | 1u << 31, {0x11223344, 0}, memory + 1500, 12) +
         dma(kFromMemory | 2u << 20, address(memory), nullptr, 64) +  // into a cache
         dma(kFromMemory | kToMemory, address(nullptr), nullptr, 0) + write_dword(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  for (uint32_t i = 0; i < 99; ++i) ASSERT_EQ(bytes[5003 + i], i + 1);
  EXPECT_EQ(bytes[5102], 0u);
  for (uint32_t i = 0; i < 50; ++i) ASSERT_EQ(bytes[3990 + i], i + 1);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(memory[1500 + i], 0x11223344u);
  EXPECT_EQ(memory[1503], 0u);
}

TEST_F(Pm4Packets, RegistersOfTheDeviceAreOfAllQueues) {
  constexpr uint32_t kGfxIndex = 0xc200, kScratch = 0xc040, kUserData = 0xc342, kSelect = 0xd9c0;
  submit(set_user_config(kGfxIndex, {0xe0000000}) + set_user_config(kScratch, {1, 2, 3}) +
         packet(pm4::kSetUconfigRegIndex, {kSelect - pm4::kUconfigBase, 9}) +
         packet(pm4::kWriteData, {0, kUserData, 0, 0x77}) + set_user_config(0xd808, {0}) +
         set_user_config(0xd808, {2}) + set_user_config(0xd9ec, {1 << 5}) + write_dword(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  queue = make();
  submit(register_to(kGfxIndex, memory + 8) + register_to(kScratch + 2, memory + 9) +
         register_to(kSelect, memory + 10) + register_to(kUserData, memory + 11) +
         packet(pm4::kCopyData, Words{4 | 2 << 8 | 1 << 16, 0xd000, 0} + address(memory + 12)) +
         packet(pm4::kWaitRegMem, {3, kScratch + 1, 0, 2, ~0u, 4}) + write_dword(memory, 2));
  ASSERT_TRUE(becomes(memory, 2));
  EXPECT_EQ(memory[8], 0xe0000000u);
  EXPECT_EQ(memory[9], 3u);
  EXPECT_EQ(memory[10], 9u);
  EXPECT_EQ(memory[11], 0x77u);
  EXPECT_EQ(memory[12] | memory[13], 0u) << "a counter that counts nothing";
}

TEST_F(Pm4Packets, RegistersInPairs) {
  const uint32_t first = pm4::kUserData0 - pm4::kShBase;
  submit(packet(pm4::kSetShRegPairs, {first, 5, first + 7, 6}) +
         packet(pm4::kSetShRegPairsPacked,
                {4, first + 1 | (first + 2) << 16, 7, 8, first + 3 | (first + 3) << 16, 9, 9}) +
         packet(pm4::kSetShRegPairsPackedN, {2, first + 4 | (first + 5) << 16, 10, 11}) +
         set(pm4::kDispatchTunnel, {3}) + register_to(pm4::kDispatchTunnel, memory + 9));
  for (uint32_t i = 0; i < 8; ++i) submit(register_to(pm4::kUserData0 + i, memory + 16 + i));
  submit(write_dword(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  const uint32_t expected[] = {5, 7, 8, 9, 10, 11, 0, 6};
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(memory[16 + i], expected[i]) << i;
  EXPECT_EQ(memory[9], 3u);
}

// What drivers set before a dispatch, whatever it means to the card's scheduling.
TEST_F(Pm4Packets, AllComputeRegistersOfGfx11CanBeSet) {
  Words words;
  for (uint32_t number = pm4::kShBase; number < pm4::kShEnd; ++number)
    if (pm4::is_compute_register(number)) words = words + set(number, {number});
  queue = make(4096);
  submit(words + register_to(0x2e0b, memory + 8) + register_to(0x2e2a, memory + 9) + write_dword(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  EXPECT_EQ(memory[8], 0x2e0bu) << "COMPUTE_PERFCOUNT_ENABLE";
  EXPECT_EQ(memory[9], 0x2e2au) << "COMPUTE_SHADER_CHKSUM";
}

// By the registers' numbers, or by a packet: the host's memory and the device's are one.
TEST_F(Pm4Packets, FlushesOfTheHostDataPath) {
  submit(packet(pm4::kWriteData, {0, pm4::kHdpFlushRequest, 0, 1}) +
         packet(pm4::kWaitRegMem, {3, pm4::kHdpFlushDone, 0, 1, 1, 4}) +
         packet(pm4::kWaitRegMem, {3 | 1 << 6, pm4::kHdpFlushRequest, pm4::kHdpFlushDone, 4, 4, 4}) +
         packet(pm4::kHdpFlush, {0}) + packet(pm4::kInvalidateTlbs, {0}) +
         packet(pm4::kPrimeUtcl2, {0, 0, 0, 1}) + write_dword(memory, 1));
  EXPECT_TRUE(becomes(memory, 1));
}

TEST_F(Pm4Packets, EventsThatChangeNothing) {
  for (const uint32_t event :
       {pm4::kVsPartialFlush, pm4::kPsPartialFlush, pm4::kCacheFlushAndInv, pm4::kDbCacheFlushAndInv,
        pm4::kFlushAndInvDbMeta, pm4::kFlushAndInvCbMeta, pm4::kFlushAndInvCbPixelData, pm4::kPerfcounterStop,
        pm4::kPipelinestatStart, pm4::kPipelinestatStop, pm4::kThreadTraceStop, pm4::kThreadTraceMarker,
        pm4::kThreadTraceFinish})
    submit(packet(pm4::kEventWrite, {event}));
  submit(packet(pm4::kEventWrite, {pm4::kCacheFlush, 0, 0}) + write_dword(memory, 1));
  EXPECT_TRUE(becomes(memory, 1));
}

TEST_F(Pm4Packets, ReleaseMemAddsAndInterrupts) {
  memory[17] = 5;
  const auto release_with = [&](uint32_t event, uint32_t selects, uint32_t context) {
    return packet(pm4::kReleaseMem,
                  {event | 5 << 8, selects, low(memory + 17), high(memory + 17), 7, 1, context});
  };
  submit(release_with(pm4::kCsDone, 7u << 29, 0) + release_with(pm4::kCacheFlushTs, 7u << 29 | 1 << 16, 0) +
         release_with(pm4::kFlushAndInvCbDataTs, 0, 0) +
         release_with(pm4::kFlushAndInvDbDataTs, 4u << 24, 0x55) + write_dword(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  EXPECT_EQ(memory[17], 19u) << "32 bits, wherever they are";
  EXPECT_EQ(memory[18], 0u);
  const auto interrupt = m.processor->interrupts().wait(in_seconds(20));
  ASSERT_TRUE(interrupt);
  EXPECT_EQ(interrupt->data, 0x55u);
  EXPECT_EQ(failure(release_with(pm4::kCsDone, 1u << 29 | 2 << 16, 0)).field, "dst_sel");
  EXPECT_EQ(failure(release_with(pm4::kCsDone, 6u << 29, 0)).field, "data_sel");
  EXPECT_EQ(failure(release_with(pm4::kCsDone, 5u << 24, 0)).field, "int_sel");
}

TEST_F(Pm4Packets, WaitRegMemThatMayBePreempted) {
  submit(packet(pm4::kWaitRegMem, Words{3 | 1 << 4 | 3 << 6} + address(memory + 1) + Words{1, ~0u, 4}) +
         write_dword(memory, 1));
  EXPECT_FALSE(becomes(memory, 1, 0.03));
  store_shared<uint32_t>(memory + 1, 1);
  EXPECT_TRUE(becomes(memory, 1));
}

TEST_F(Pm4Packets, WhatIsWrongOrNotHereIsNamed) {
  const struct {
    const char* field;
    Words words;
    const char* text = "";
  } cases[] = {
      {"count", packet(pm4::kCondExec, {0, 0, 0})},
      {"addr", condition(nullptr, 1)},
      {"count", packet(pm4::kRewind, {0, 0})},
      {"compare_addr", packet(pm4::kIndirectBuffer, {1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})},
      {"function", packet(pm4::kIndirectBuffer, {1 | 7 << 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})},
      {"count", packet(pm4::kCondWrite, {0, 0})},
      {"function", packet(pm4::kCondWrite, {7, 0, 0, 0, 0, 0, 0, 0})},
      {"poll_address", packet(pm4::kCondWrite, {0, 1, 0, 0, 0, 0, 0, 0})},
      {"write_address", packet(pm4::kCondWrite, {0 | 1 << 8, pm4::kUserData0, 0, 0, 0, 64, 0, 0})},
      {"atomic", atomic(0x02, memory, 1), "0x2"},
      {"command", atomic(0x0f, memory, 1, 0, 1)},
      {"command", atomic(0x0f, memory, 1, 0, 4)},
      {"addr", atomic(0x2f, memory + 1, 1)},
      {"addr", atomic(0x0f, nullptr, 1)},
      {"src_sel", dma(1u << 29 | kToMemory, {0, 0}, memory, 4)},
      {"dst_sel", dma(kFromMemory | 1u << 20, address(memory), nullptr, 4)},
      {"command", dma(kFromMemory | kToMemory, address(memory), memory + 8, 4 | 1u << 27)},
      {"src_addr", dma(kFromMemory | kToMemory, {64, 0}, memory, 4)},
      {"dst_addr", dma(kFromMemory | kToMemory, address(memory), memory + 4095, 8)},
      {"dst_addr", dma(kFromMemory | kToMemory, address(memory), memory + 1, 64)},
      {"byte_count", dma(kFromData | kToMemory, {1, 0}, memory, 6)},
      {"dst_addr", dma(kFromData | kToMemory, {1, 0}, reinterpret_cast<uint8_t*>(memory) + 2, 4)},
      {"reg_offset", set_user_config(0xc900, {1}), "0xc900"},
      {"reg_offset", set_user_config(0xd808, {1}), "CP_PERFMON_CNTL"},
      {"reg_offset", set_user_config(0xd808, {1 << 4}), "CP_PERFMON_CNTL"},
      {"reg_offset", set_user_config(0xd9ec, {1}), "SQ_THREAD_TRACE_CTRL"},
      {"reg_offset", set_user_config(0xdc80, {1 << 12}), "RLC_SPM_PERFMON_CNTL"},
      {"index", packet(pm4::kLoadShRegIndex, {low(memory) | 2, high(memory), 0x240, 1})},
      {"data_format", packet(pm4::kLoadShRegIndex, address(memory) + Words{0x240 | 1u << 31, 1})},
      {"mem_addr", packet(pm4::kLoadShRegIndex, address(memory + 4095) + Words{0x240, 2})},
      {"reg_offset", packet(pm4::kLoadShRegIndex, address(memory) + Words{0x8, 1})},
      {"reg_offset", packet(pm4::kLoadShRegIndex, address(memory) + Words{0x400, 1})},
      {"count", packet(pm4::kLoadShRegIndex, address(memory) + Words{0x240})},
      {"count", packet(pm4::kTimestamp, {3, 0, 0})},
      {"pipe_top_addr", packet(pm4::kTimestamp, Words{2, 0, 0} + address(memory + 1))},
      {"address", packet(pm4::kTimestamp, Words{1} + address(memory + 1) + Words{0, 0})},
      {"index", packet(pm4::kSetUconfigRegIndex, {0x200 | 1u << 28, 0})},
      {"reg_writes_count", packet(pm4::kSetShRegPairsPacked, {3, 0, 0, 0})},
      {"reg_writes_count", packet(pm4::kSetShRegPairsPacked, {4, 0, 0, 0})},
      {"reg_writes_count", packet(pm4::kSetShRegPairsPacked, {2, 0x240 | 0x241 << 16, 0, 0, 0})},
      {"reg_offset", packet(pm4::kSetShRegPairsPacked, {2, 0x240 | 0x8 << 16, 0, 0})},
      {"reg_offset", packet(pm4::kSetShRegPairs, {0x400, 0})},
      {"count", packet(pm4::kSetShRegPairs, {0x240, 0, 0})},
      {"event_type", packet(pm4::kEventWrite, {pm4::kPerfcounterStart}), "performance counters"},
      {"event_type", packet(pm4::kEventWrite, {pm4::kSamplePipelinestat, 0, 0}), "statistics"},
      {"event_type", packet(pm4::kEventWrite, {pm4::kThreadTraceStart}), "thread traces"},
      {"operation", packet(pm4::kWaitRegMem, {2 << 6 | 1 << 4, 0, 0, 0, 0, 0})},
      {"dispatch_initiator", packet(pm4::kDispatchDirect, {1, 1, 1, 1 | 1 << 14}), "RESTORE"},
      {"opcode", packet(0x69, {0, 0}), "SET_CONTEXT_REG"},
      {"opcode", packet(0xc5, {0}), "0xc5"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(std::string(test.field) + " " + test.text);
    const QueueError e = failure(test.words);
    EXPECT_EQ(e.field, test.field) << e.message;
    EXPECT_NE(e.message.find(test.text), std::string::npos) << e.message;
  }
}

}  // namespace
}  // namespace lockstep::command
