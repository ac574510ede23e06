// Signals and interrupts by themselves.
#include <thread>

#include "tests/command/machine_under_test.h"

namespace lockstep::command {
namespace {

struct SignalsTest : testing::Test {
  AddressSpace memory;
  Waiters waiters;
  Interrupts interrupts{waiters};
  Signals signals{memory, waiters, interrupts};
};

TEST_F(SignalsTest, AHandleIsTheAddressOfItsMemory) {
  const uint64_t signal = signals.create(-5);
  EXPECT_EQ(signal % 64, 0u);
  EXPECT_TRUE(memory.snapshot()->find(signal, 64, kReadWrite));
  const auto* layout = reinterpret_cast<const SignalMemory*>(signal);
  EXPECT_EQ(layout->kind, 1);
  EXPECT_EQ(layout->value, -5);
  EXPECT_EQ(layout->event_mailbox_ptr, 0u);
}

TEST_F(SignalsTest, EveryOperation) {
  const uint64_t signal = signals.create(12);
  EXPECT_EQ(signals.change(signal, SignalOperation::add, 3), 12);
  EXPECT_EQ(signals.change(signal, SignalOperation::subtract, 1), 15);
  EXPECT_EQ(signals.change(signal, SignalOperation::bit_and, 6), 14);
  EXPECT_EQ(signals.change(signal, SignalOperation::bit_or, 9), 6);
  EXPECT_EQ(signals.change(signal, SignalOperation::bit_xor, 1), 15);
  EXPECT_EQ(signals.change(signal, SignalOperation::exchange, -1), 14);
  EXPECT_EQ(signals.change(signal, SignalOperation::store, 4), -1);
  EXPECT_EQ(signals.compare_exchange(signal, 5, 9), 4);
  EXPECT_EQ(signals.load(signal), 4);
  EXPECT_EQ(signals.compare_exchange(signal, 4, 9), 4);
  EXPECT_EQ(signals.load(signal), 9);
}

TEST_F(SignalsTest, EveryConditionWakes) {
  const struct {
    Condition condition;
    int64_t compare, wrong, right;
  } cases[] = {{Condition::equal, 3, 2, 3},
               {Condition::not_equal, 0, 0, -1},
               {Condition::less, 0, 0, -1},
               {Condition::greater_or_equal, 5, 4, 5}};
  for (const auto& test : cases) {
    const uint64_t signal = signals.create(test.wrong);
    EXPECT_FALSE(signals.wait(signal, test.condition, test.compare, in_seconds(0.01)));
    std::thread other([&] { signals.change(signal, SignalOperation::store, test.right); });
    EXPECT_EQ(signals.wait(signal, test.condition, test.compare, in_seconds(20)), test.right);
    other.join();
  }
}

TEST_F(SignalsTest, DestroyedSignalsAreReused) {
  const uint64_t signal = signals.create(0);
  EXPECT_TRUE(signals.exists(signal));
  EXPECT_FALSE(signals.exists(signal + 8));
  EXPECT_FALSE(signals.exists(0));
  EXPECT_TRUE(signals.destroy(signal));
  EXPECT_FALSE(signals.exists(signal));
  EXPECT_FALSE(signals.destroy(signal));
  EXPECT_EQ(signals.create(1), signal);
}

TEST_F(SignalsTest, MoreSignalsThanASlabHolds) {
  std::vector<uint64_t> many;
  for (int64_t i = 0; i < 10'000; ++i) many.push_back(signals.create(i));
  for (int64_t i = 0; i < 10'000; ++i) EXPECT_EQ(signals.load(many[static_cast<size_t>(i)]), i);
}

TEST_F(SignalsTest, ManyThreadsWaitAndEachIsWokenByItsOwn) {
  std::vector<uint64_t> all;
  for (int i = 0; i < 32; ++i) all.push_back(signals.create(1));
  std::atomic<int> woken = 0;
  std::vector<std::thread> threads;
  for (uint64_t signal : all)
    threads.emplace_back([&, signal] {
      if (signals.wait(signal, Condition::equal, 0, in_seconds(20))) ++woken;
    });
  for (uint64_t signal : all) signals.change(signal, SignalOperation::store, 0);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(woken, 32);
}

TEST_F(SignalsTest, InterruptsComeInOrderAndTheOldestAreLost) {
  for (uint32_t i = 0; i < 5000; ++i) interrupts.raise({Interrupt::Source::copy_engine, i, 0, {}, 0});
  EXPECT_EQ(interrupts.lost(), 904u);
  for (uint32_t i = 904; i < 5000; ++i) EXPECT_EQ(interrupts.wait(std::nullopt)->data, i);
  EXPECT_FALSE(interrupts.wait(in_seconds(0.01)));
}

}  // namespace
}  // namespace lockstep::command
