// Random packets end in an error or do what they say; they never take the emulator down.
#include <cstring>
#include <random>

#include "command/pm4.h"
#include "command/sdma.h"
#include "tests/command/machine_under_test.h"
#include "tests/sweep.h"

namespace lockstep::command {
namespace {

const int kPackets = test::of_sweep(100'000, 25'000);

// Addresses near what is mapped, fields near what is legal, and anything.
class Anything {
 public:
  explicit Anything(const uint32_t* memory) : memory_(reinterpret_cast<uint64_t>(memory)) {}
  uint32_t operator()() {
    switch (random_() % 6) {
      case 0:
        return static_cast<uint32_t>(memory_ + random_() % 0x1200 / 4 * 4);
      case 1:
        return static_cast<uint32_t>(memory_ >> 32);
      case 2:
        return random_() % 8;
      case 3:
        return 1u << random_() % 32;
      case 4:
        return 0;
      default:
        return random_();
    }
  }
  uint32_t below(uint32_t bound) { return random_() % bound; }
  uint64_t address() { return memory_ + random_() % 0x1200; }

 private:
  uint64_t memory_;
  std::mt19937 random_{20231};
};

// Sends packets one by one, each when the one before was processed; a queue that failed, or that waits for
// what never comes, is replaced.
template <class Make, class Send, class Done>
void storm(MachineUnderTest& m, Make make, Send send, Done done) {
  int failed = 0;
  auto queue = make();
  for (int sent = 0; sent < kPackets; ++sent) {
    ASSERT_TRUE(send(*queue));
    bool active = true;
    const bool processed = m.processor->waiters().wait(
        [&] {
          active = queue->state() == QueueState::active;
          return !active || done(*queue);
        },
        in_seconds(0.0003));
    failed += !active;
    if (processed && active) continue;
    m.processor->destroy(queue);
    queue = make();
  }
  EXPECT_GT(failed, kPackets / 100);
  EXPECT_LT(failed, kPackets);
}

TEST(RandomPackets, Pm4) {
  MachineUnderTest m;
  uint32_t* memory = m.buffer(1024);
  Anything anything(memory);
  constexpr struct {
    uint32_t opcode, dwords;
  } kKinds[] = {{pm4::kNop, 1},
                {pm4::kDispatchDirect, 4},
                {pm4::kDispatchIndirect, 3},
                {pm4::kAtomicMem, 8},
                {pm4::kCondExec, 4},
                {pm4::kWriteData, 5},
                {pm4::kWaitRegMem, 6},
                {pm4::kWaitRegMem64, 8},
                {pm4::kIndirectBuffer, 3},
                {pm4::kIndirectBuffer, 13},
                {pm4::kCopyData, 5},
                {pm4::kCondWrite, 8},
                {pm4::kEventWrite, 1},
                {pm4::kReleaseMem, 7},
                {pm4::kDmaData, 6},
                {pm4::kAcquireMem, 7},
                {pm4::kRewind, 1},
                {pm4::kSetShReg, 3},
                {pm4::kLoadShRegIndex, 4},
                {pm4::kTimestamp, 5},
                {pm4::kSetShRegPairs, 2},
                {pm4::kSetShRegPairsPacked, 4},
                {pm4::kSetUconfigReg, 2}};
  storm(
      m,
      [&] {
        return m.processor->create_pm4_queue({.dwords = 256, .priority = 0, .on_error = {}, .precise = {}});
      },
      [&](Pm4Queue& queue) {
        const auto [opcode, dwords] = kKinds[anything.below(std::size(kKinds))];
        const uint32_t length = anything.below(16) ? dwords : 1 + anything.below(9);
        std::vector<uint32_t> words{anything.below(64) ? pm4::header(opcode, length) : anything()};
        for (uint32_t i = 0; i < length; ++i) words.push_back(anything());
        if (opcode == pm4::kSetShReg) words[1] = 0x200 + anything.below(0x50);
        if (opcode == pm4::kDmaData) words.back() &= anything.below(2) ? 0xfff : ~0u;
        return queue.submit(words, in_seconds(20));
      },
      [](const auto& queue) { return queue.read_position() == queue.write_position(); });
}

TEST(RandomPackets, Sdma) {
  MachineUnderTest m;
  uint32_t* memory = m.buffer(1024);
  Anything anything(memory);
  storm(
      m,
      [&] {
        return m.processor->create_sdma_queue({.dwords = 256, .priority = 0, .on_error = {}, .precise = {}});
      },
      [&](SdmaQueue& queue) {
        std::vector<uint32_t> words{anything.below(18) | anything.below(3) << 8};
        if (anything.below(8) == 0) words[0] |= anything();
        const uint32_t length = 1 + anything.below(9);
        for (uint32_t i = 0; i < length; ++i) words.push_back(anything());
        return queue.submit(words, in_seconds(20));
      },
      [](const auto& queue) { return queue.read_position() == queue.write_position(); });
}

TEST(RandomPackets, Aql) {
  MachineUnderTest m;
  uint32_t* memory = m.buffer(1024);
  Anything anything(memory);
  const uint64_t kernel = m.load({"empty", ""});
  const uint64_t signal = m.processor->signals().create(0);
  storm(
      m,
      [&] {
        return m.processor->create_aql_queue(
            {.size = 16, .priority = 0, .type = 0, .on_error = {}, .precise = {}});
      },
      [&](AqlQueue& queue) {
        AqlPacket packet = dispatch_packet(kernel, memory);
        if (anything.below(2)) packet.dispatch.header = header_of(static_cast<PacketType>(anything.below(6)));
        if (anything.below(3) == 0) packet.dispatch.completion_signal = signal;
        for (uint32_t changes = anything.below(4); changes > 0; --changes) {
          const uint32_t value = anything();
          std::memcpy(reinterpret_cast<std::byte*>(&packet) + anything.below(16) * 4, &value, 4);
        }
        const uint64_t index = queue.reserve();
        if (!queue.wait_for_slot(index, in_seconds(20))) return false;
        queue.publish(index, packet);
        queue.ring_doorbell(index);
        return true;
      },
      [](const AqlQueue& queue) { return queue.read_index() == queue.write_index(); });
}

}  // namespace
}  // namespace lockstep::command
