// The copy engine.
#include "command/sdma.h"

#include <cstring>
#include <thread>

#include "tests/command/machine_under_test.h"

namespace lockstep::command {
namespace {

Words copy(const void* from, void* to, uint32_t bytes, uint32_t flags = 0) {
  return {sdma::kCopy | flags, bytes - 1, 0, low(from), high(from), low(to), high(to)};
}
Words fence(void* to, uint32_t value) {
  return {sdma::kFence, low(to), high(to), value};
}
Words fill(void* to, uint32_t value, uint32_t bytes, uint32_t size) {
  return {sdma::kConstantFill | size << 30, low(to), high(to), value, bytes - 1};
}
Words poll(const void* at, uint32_t value, uint32_t retries = 0xfff) {
  return {
      sdma::kPollRegisterOrMemory | 3u << 28 | 1u << 31, low(at), high(at), value, ~0u, 10 | retries << 16};
}

using SdmaTest = RingQueueTest<SdmaQueue>;

TEST_F(SdmaTest, CopiesFillsAndFences) {
  for (uint32_t i = 0; i < 100; ++i) memory[100 + i] = (i + 1) * 0x01010101;
  auto* bytes = reinterpret_cast<uint8_t*>(memory);
  submit(copy(memory + 100, memory + 1000, 399) + fill(memory + 300, 0xabcd1234, 16, 2) +
         fill(bytes + 1601, 0x77, 3, 0) + fence(memory, 9));
  ASSERT_TRUE(becomes(memory, 9));
  EXPECT_EQ(std::memcmp(memory + 100, memory + 1000, 399), 0);
  EXPECT_EQ(bytes[4000 + 399], 0u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(memory[300 + i], 0xabcd1234u);
  EXPECT_EQ(memory[304], 0u);
  EXPECT_EQ(memory[400], 0x77777700u);
}

Words indirect(const void* at, uint32_t dwords) {
  return {sdma::kIndirect, low(at), high(at), dwords, 0, 0};
}

// More packets than the queue takes at a time, one that waits among them, and what follows in the ring waits.
TEST_F(SdmaTest, IndirectBuffersAreDoneBeforeWhatFollows) {
  uint32_t* const buffer = m.buffer(4096);
  uint32_t at = 0;
  const auto put = [&](const Words& words) {
    for (const uint32_t word : words) buffer[at++] = word;
  };
  for (uint32_t i = 0; i < 200; ++i) put(fence(memory + 100 + i, i + 1));
  put(poll(memory + 1, 5));
  put(copy(memory + 100, memory + 500, 800));
  submit(indirect(buffer, at) + fence(memory, 1));
  ASSERT_TRUE(becomes(memory + 299, 200));
  EXPECT_EQ(memory[0], 0u);
  EXPECT_EQ(memory[500], 0u) << "waits";
  store_shared<uint32_t>(memory + 1, 5);
  m.processor->waiters().notify();
  ASSERT_TRUE(becomes(memory, 1));
  for (uint32_t i = 0; i < 200; ++i) EXPECT_EQ(memory[500 + i], i + 1);
  // Again, from its begin; an empty one is no work.
  submit(fill(memory + 500, 0, 800, 2) + indirect(buffer, at) + indirect(buffer, 0) + fence(memory, 2));
  ASSERT_TRUE(becomes(memory, 2));
  EXPECT_EQ(memory[699], 200u);
}

TEST_F(SdmaTest, IndirectBuffersThatAreWrong) {
  uint32_t* const buffer = m.buffer(64);
  const auto make = [&](const Words& words) {
    uint32_t at = 0;
    for (const uint32_t word : words) buffer[at++] = word;
    return indirect(buffer, at);
  };
  EXPECT_EQ(failure(indirect(buffer + 1, 4)).field, "ib_base");
  EXPECT_EQ(failure(make(indirect(buffer, 6))).field, "op");
  EXPECT_EQ(failure(make({sdma::kFence, low(memory), high(memory)})).field, "ib_size");
  EXPECT_EQ(failure(make({0xff, 0, 0, 0})).field, "op");
  EXPECT_EQ(failure(indirect(reinterpret_cast<const void*>(0x1000), 4)).field, "ib_base");
}

TEST_F(SdmaTest, BroadcastAndBackwardCopies) {
  for (uint32_t i = 0; i < 8; ++i) memory[16 + i] = i + 1;
  Words twice = copy(memory + 16, memory + 64, 32, 1u << 27) + Words{low(memory + 80), high(memory + 80)};
  submit(twice + copy(memory + 16, memory + 18, 32, 1u << 25) + fence(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(memory[64 + i], i + 1);
    EXPECT_EQ(memory[80 + i], i + 1);
    EXPECT_EQ(memory[18 + i], i + 1);
  }
}

// Both destinations get what the source was, though the first one overlaps it.
TEST_F(SdmaTest, BroadcastOverItsOwnSource) {
  constexpr uint32_t kDwords = 3000;  // more than the engine reads at a time
  for (const bool backwards : {false, true}) {
    uint32_t* from = m.buffer(4096) + 500;
    uint32_t *to = backwards ? from + 8 : from - 8, *second = m.buffer(4096);
    for (uint32_t i = 0; i < kDwords; ++i) from[i] = i + 1;
    submit(copy(from, to, kDwords * 4, 1u << 27 | (backwards ? 1u << 25 : 0)) +
           Words{low(second), high(second)} + fence(memory, 1 + backwards));
    ASSERT_TRUE(becomes(memory, 1 + backwards));
    for (uint32_t i = 0; i < kDwords; ++i) {
      ASSERT_EQ(to[i], i + 1);
      ASSERT_EQ(second[i], i + 1);
    }
  }
  const Words second_behind =
      copy(memory + 16, memory + 64, 64, 1u << 27) + Words{low(memory + 17), high(memory)};
  EXPECT_EQ(failure(second_behind).field, "dst2_addr");
  const Words both = copy(memory + 16, memory + 64, 64, 1u << 27) + Words{low(memory + 70), high(memory)};
  EXPECT_EQ(failure(both).field, "dst2_addr");
}

// Looks at memory because something else has changed are none of its retries.
TEST_F(SdmaTest, PollCountsItsOwnLooks) {
  Words slow = poll(memory, 5, 4);
  slow[5] |= 50'000;  // each look at least 50 ms after the one before
  submit(slow + fence(memory + 1, 1));
  const auto until = in_seconds(0.1);
  while (Waiters::Clock::now() < until) {
    m.processor->waiters().notify();
    std::this_thread::yield();
    ASSERT_EQ(load_shared<uint32_t>(memory + 1), 0u);
  }
  EXPECT_TRUE(becomes(memory + 1, 1));
}

TEST_F(SdmaTest, PollWaitsForMemoryOrGivesUp) {
  submit(poll(memory, 5) + fence(memory + 1, 1));
  EXPECT_FALSE(becomes(memory + 1, 1, 0.02));
  store_shared<uint32_t>(memory, 5);
  EXPECT_TRUE(becomes(memory + 1, 1));
  submit(poll(memory, 6, 3) + fence(memory + 1, 2));
  EXPECT_TRUE(becomes(memory + 1, 2));
}

TEST_F(SdmaTest, PollComparesUnderItsMask) {
  memory[0] = 0xff05;
  Words masked = poll(memory, 5);
  masked[4] = 0xff;
  submit(masked + fence(memory + 1, 1));
  EXPECT_TRUE(becomes(memory + 1, 1));
}

TEST_F(SdmaTest, MemoryThatMayOnlyBeRead) {
  MappedPages pages(m.memory, 4096, kRead, "read-only");
  submit(copy(pages.data(), memory + 16, 16) + fence(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  EXPECT_EQ(failure(fence(pages.data(), 7)).field, "addr");
  EXPECT_EQ(failure(copy(memory, pages.data(), 16)).field, "dst_addr");
  EXPECT_EQ(load_shared<uint32_t>(pages.data()), 0u);
}

TEST_F(SdmaTest, TrapTimestampWriteAtomicAndNop) {
  memory[20] = 10;
  submit(Words{sdma::kNop | 3u << 16, 1, 2, 3} +
         Words{sdma::kTimestamp | sdma::kTimestampGetGlobal << 8, low(memory + 8), high(memory + 8)} +
         Words{sdma::kWrite, low(memory + 12), high(memory + 12), 1, 77, 78} +
         Words{sdma::kAtomic | sdma::kAtomicAdd64 << 25, low(memory + 20), high(memory + 20), ~0u, ~0u, 0, 0,
               0} +
         Words{sdma::kCacheRequest, 0, 0, 0, 0} + Words{sdma::kTrap, 0x123});
  const auto interrupt = m.processor->interrupts().wait(in_seconds(20));
  ASSERT_TRUE(interrupt);
  EXPECT_EQ(interrupt->source, Interrupt::Source::copy_engine);
  EXPECT_EQ(interrupt->data, 0x123u);
  EXPECT_NE(memory[8] | memory[9], 0u);
  EXPECT_EQ(memory[12], 77u);
  EXPECT_EQ(memory[13], 78u);
  EXPECT_EQ(memory[20], 9u);
}

Words sdma_atomic(uint32_t number, void* to, uint64_t operand, uint64_t compared = 0, bool loops = false) {
  return {sdma::kAtomic | (loops ? 1u << 16 : 0) | number << 25,
          low(to),
          high(to),
          static_cast<uint32_t>(operand),
          static_cast<uint32_t>(operand >> 32),
          static_cast<uint32_t>(compared),
          static_cast<uint32_t>(compared >> 32),
          10};
}

TEST_F(SdmaTest, AtomicsOfBothSizes) {
  memory[16] = 5;
  memory[17] = 1;
  memory[18] = 7;
  memory[19] = 1;
  submit(sdma_atomic(0x0f, memory + 16, ~0u) + sdma_atomic(0x68, memory + 18, 9, 0x1'0000'0007) +
         fence(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  EXPECT_EQ(memory[16], 4u);
  EXPECT_EQ(memory[17], 1u) << "32 bits";
  EXPECT_EQ(memory[18], 9u);
  EXPECT_EQ(memory[19], 0u);
  // A lock: taken when it is free.
  submit(sdma_atomic(0x08, memory + 16, 3, 0x9'0000'0000, true) + fence(memory, 2));
  EXPECT_FALSE(becomes(memory, 2, 0.03));
  store_shared<uint32_t>(memory + 16, 0);
  EXPECT_TRUE(becomes(memory, 2));
  EXPECT_EQ(memory[16], 3u);
}

Words semaphore(void* to, bool signals, bool write_one = false) {
  return {sdma::kSemaphore | (write_one ? 1u << 29 : 0) | (signals ? 1u << 30 : 0), low(to), high(to)};
}

TEST_F(SdmaTest, SemaphoresCount) {
  submit(semaphore(memory + 16, true) + semaphore(memory + 16, true) + semaphore(memory + 16, false) +
         semaphore(memory + 18, true) + semaphore(memory + 18, true, true) + fence(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  EXPECT_EQ(memory[16], 1u);
  EXPECT_EQ(memory[18], 1u) << "1 is written";
  submit(semaphore(memory + 16, false) + semaphore(memory + 16, false) + fence(memory, 2));
  EXPECT_FALSE(becomes(memory, 2, 0.03));
  const auto other = make();
  ASSERT_TRUE(other->submit(semaphore(memory + 16, true), in_seconds(20)));
  EXPECT_TRUE(becomes(memory, 2));
  EXPECT_EQ(memory[16] | memory[17], 0u);
}

Words when(const void* at, uint32_t reference, uint32_t dwords) {
  return {sdma::kConditionalExecution, low(at), high(at), reference, dwords};
}

TEST_F(SdmaTest, ConditionsLeaveOutWhatFollows) {
  uint32_t* const buffer = m.buffer(64);
  memory[1] = 1;
  const Words words = when(memory + 1, 2, 4) + fence(memory + 8, 1) + when(memory + 1, 1, 4) +
                      fence(memory + 9, 2) + when(memory + 1, 2, 8) + fence(memory + 8, 1) +
                      fence(memory + 8, 1);
  std::copy(words.begin(), words.end(), buffer);
  submit(words + Words{sdma::kDummyTrap, 1} + fence(memory, 1));
  ASSERT_TRUE(becomes(memory, 1));
  EXPECT_EQ(memory[8], 0u);
  EXPECT_EQ(memory[9], 2u);
  memory[9] = 0;
  submit(indirect(buffer, static_cast<uint32_t>(words.size())) + fence(memory, 2));
  ASSERT_TRUE(becomes(memory, 2));
  EXPECT_EQ(memory[8], 0u);
  EXPECT_EQ(memory[9], 2u);
  // As far as its end, and one dword more.
  buffer[4] = static_cast<uint32_t>(words.size()) - 5;
  submit(indirect(buffer, static_cast<uint32_t>(words.size())) + fence(memory, 3));
  ASSERT_TRUE(becomes(memory, 3));
  ++buffer[4];
  EXPECT_EQ(failure(indirect(buffer, static_cast<uint32_t>(words.size()))).field, "exec_count");
}

TEST_F(SdmaTest, ItCountsASignalThatAnAqlQueueWaitsFor) {
  const uint64_t gate = m.processor->signals().create(1), done = m.processor->signals().create(1);
  const auto aql = m.queue();
  command::submit(*aql, barrier_packet(PacketType::barrier_and, {gate}, done));
  auto* value = reinterpret_cast<void*>(gate + 8);
  submit(Words{sdma::kAtomic | sdma::kAtomicAdd64 << 25, low(value), high(value), ~0u, ~0u, 0, 0, 0});
  EXPECT_TRUE(m.processor->signals().wait(done, Condition::equal, 0, in_seconds(20)));
}

TEST_F(SdmaTest, FaultsNameTheAddress) {
  const struct {
    const char* field;
    Words words;
  } cases[] = {
      {"op", {0x3f}},
      {"sub_op", {sdma::kCopy | 1 << 8, 0, 0, 0, 0, 0, 0}},
      {"src_addr", copy(nullptr, memory, 4)},
      {"dst_addr", copy(memory, memory + 4095, 8)},
      {"dst_addr", copy(memory, memory + 1, 64)},
      {"addr", fence(reinterpret_cast<void*>(3), 0)},
      {"addr", fence(reinterpret_cast<uint8_t*>(memory) + 2, 0)},
      {"addr", fence(reinterpret_cast<void*>(64), 0)},
      {"fillsize", fill(memory, 0, 4, 3)},
      {"mem_poll", {sdma::kPollRegisterOrMemory, 0, 0, 0, 0, 0}},
      {"atomic_op", {sdma::kAtomic, 0, 0, 0, 0, 0, 0, 0}},
      {"loop", sdma_atomic(sdma::kAtomicAdd64, memory, 1, 0, true)},
      {"addr", sdma_atomic(sdma::kAtomicAdd64, memory + 1, 1)},
      {"addr", semaphore(memory + 1, true)},
      {"addr", when(nullptr, 0, 0)},
      {"count", {sdma::kTrap}},
      {"sub_op", {sdma::kTimestamp, 0, 0}},
      {"sub_op", {sdma::kPollRegisterOrMemory | 3 << 8 | 1u << 31, 0, 0, 0, 0, 0, 0, 0, 0}},
      {"sub_op", {sdma::kConstantFill | 1 << 8, 0, 0, 0, 0}},
      {"sub_op", {sdma::kCacheRequest | 2 << 8, 0, 0, 0, 0}},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.field);
    const QueueError e = failure(Words{sdma::kNop} + test.words);
    EXPECT_EQ(e.field, test.field) << e.message;
    EXPECT_EQ(e.position, 1u);
    EXPECT_NE(e.message.find("SDMA queue "), std::string::npos);
  }
  EXPECT_NE(failure(copy(nullptr, memory, 4)).message.find("0x0"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::command
