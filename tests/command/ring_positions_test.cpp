// Rings in memory of the caller's: what positions and doorbells say of how far packets have been published.
#include "command/pm4.h"
#include "command/sdma.h"
#include "memory/host_fault.h"
#include "tests/command/machine_under_test.h"
#include "tests/command/pm4_words.h"

namespace lockstep::command {
namespace {

constexpr uint32_t kDwords = 64;
constexpr uint64_t kRingPage = 4096;

// Packets add to a sum, so that each is known to have been executed once.
template <class Kind>
struct RingPositions : testing::Test {
  static constexpr bool kIsPm4 = std::is_same_v<Kind, Pm4Queue>;
  static constexpr uint64_t kUnit = kIsPm4 ? 1 : 4;  // of a position, for each dword
  uint64_t doorbell = AqlQueue::kNeverRung;
  std::shared_ptr<HostPages> pages = HostPages::make(4 * kRingPage);  // outlive the queue
  MachineUnderTest m{2, "navi31", AddressSpace::Changes::seen_at_once};
  uint32_t* const ring = reinterpret_cast<uint32_t*>(pages->data());
  uint64_t* const positions = reinterpret_cast<uint64_t*>(pages->data() + kRingPage);
  uint64_t* const sum = positions + 16;
  std::shared_ptr<Kind> queue;
  uint64_t written = 0;

  RingPositions() {
    catch_host_faults();
    // As drivers map rings that the device only reads.
    EXPECT_TRUE(m.memory.map(pages->address(), kRingPage, kRead, "ring"));
    EXPECT_TRUE(m.memory.map(pages->address() + kRingPage, kRingPage, kReadWrite, "positions"));
    RingQueueOptions options;
    options.dwords = kDwords;
    options.on_error = m.keep_errors();
    options.memory = {ring, positions, positions + 8, &doorbell, kIsPm4 ? 4u : 1u, kIsPm4};
    if constexpr (kIsPm4)
      queue = m.processor->create_pm4_queue(std::move(options));
    else
      queue = m.processor->create_sdma_queue(std::move(options));
  }
  static Words add(uint64_t* to, uint32_t value) {
    if constexpr (kIsPm4)
      return packet(pm4::kAtomicMem, {0x6f, low(to), high(to), value, 0, 0, 0, 0});
    else
      return {sdma::kAtomic | sdma::kAtomicAdd64 << 25, low(to), high(to), value, 0, 0, 0, 0};
  }
  void put(const Words& words) {
    for (const uint32_t word : words) store_shared<uint32_t>(&ring[written++ % kDwords], word);
  }
  void look() { m.processor->serve_doorbells(); }
  void ring_with(uint64_t dwords) {
    store_shared<uint64_t>(&doorbell, dwords * kUnit);
    look();
  }
  void move_to(uint64_t dwords) { store_shared<uint64_t>(positions + 8, dwords * kUnit); }
  bool sums_to(uint64_t value) {
    for (int i = 0; i < 20000 && load_shared<uint64_t>(sum) != value; ++i) {
      look();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return load_shared<uint64_t>(sum) == value;
  }
  // What may come that should not has come by then.
  bool stays_at(uint64_t value) {
    for (int i = 0; i < 30; ++i) {
      look();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return load_shared<uint64_t>(sum) == value && queue->state() == QueueState::active;
  }
};

using Kinds = testing::Types<Pm4Queue, SdmaQueue>;
TYPED_TEST_SUITE(RingPositions, Kinds, );

TYPED_TEST(RingPositions, TheDoorbellAloneIsEnough) {
  for (uint64_t i = 1; i <= 20; ++i) {
    this->put(this->add(this->sum, 1));
    this->ring_with(this->written);
    ASSERT_TRUE(this->sums_to(i));
  }
}

TYPED_TEST(RingPositions, ThePositionMayFollowTheDoorbell) {
  for (uint64_t i = 1; i <= 20; ++i) {
    this->put(this->add(this->sum, 1));
    this->ring_with(this->written);
    ASSERT_TRUE(this->sums_to(i));
    this->move_to(this->written);
    ASSERT_TRUE(i % 7 != 0 || this->stays_at(i));
  }
}

// The doorbell says less than has been read, since somebody has looked before it is rung for what the
// position tells: nothing is executed again.
TYPED_TEST(RingPositions, ADoorbellThatIsBehindIsNoNewRound) {
  this->put(this->add(this->sum, 1));
  this->ring_with(this->written);
  this->move_to(this->written);
  ASSERT_TRUE(this->sums_to(1));
  this->put(this->add(this->sum, 1));
  this->move_to(this->written);
  this->ring_with(7);
  ASSERT_TRUE(this->sums_to(2));
  EXPECT_TRUE(this->stays_at(2));
  this->ring_with(this->written);
  EXPECT_TRUE(this->stays_at(2));
}

TYPED_TEST(RingPositions, PositionsMayStayWithinTheRing) {
  for (uint64_t i = 1; i <= 40; ++i) {
    this->put(this->add(this->sum, 1));
    this->move_to(this->written % kDwords);
    this->ring_with(this->written % kDwords);
    ASSERT_TRUE(this->sums_to(i));
    ASSERT_TRUE(i % 9 != 0 || this->stays_at(i));
  }
}

// A doorbell that was stored to in halves, say, or with anything else.
TYPED_TEST(RingPositions, ADoorbellBeyondTheRingLeavesThePosition) {
  this->put(this->add(this->sum, 1));
  this->ring_with(kDwords + 8);
  EXPECT_TRUE(this->stays_at(0));
  this->move_to(this->written);
  this->ring_with(uint64_t{1} << 40);
  EXPECT_TRUE(this->sums_to(1));
  EXPECT_TRUE(this->stays_at(1));
}

TYPED_TEST(RingPositions, APositionBeyondTheRingIsAnError) {
  this->put(this->add(this->sum, 1));
  this->move_to(kDwords + 8);
  this->ring_with(uint64_t{1} << 40);  // else nobody need look
  const auto error = this->m.error(*this->queue);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->field, "write position");
  EXPECT_EQ(*this->sum, 0u);
}

// Some move the position with each dword.
TYPED_TEST(RingPositions, APacketMayComeInParts) {
  for (uint64_t i = 1; i <= 20; ++i) {
    this->put(this->add(this->sum, 1));
    for (uint64_t part = 7; part > 0; --part) {
      this->move_to(this->written - part);
      this->ring_with(this->written - part);
    }
    ASSERT_TRUE(i % 7 != 0 || this->stays_at(i - 1));
    this->move_to(this->written);
    this->ring_with(this->written);
    ASSERT_TRUE(this->sums_to(i));
  }
}

}  // namespace
}  // namespace lockstep::command
