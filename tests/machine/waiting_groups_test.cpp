// Work-groups that wait for each other through memory: all that are resident make progress (guide 1.2, DESIGN
// 6).
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "machine/device.h"
#include "tests/machine/test_dispatch.h"
#include "tests/sweep.h"

namespace lockstep::machine {
namespace {

constexpr int kMeetings = test::kIsSanitized ? 100 : 1000;

std::string meetings(const char* in_loop, int rounds) {
  return std::string(R"(
  v_mov_b32 v2, 0
  v_mov_b32 v3, 1
  s_mov_b32 s4, 0
  s_mov_b32 s5, 0
  s_mov_b32 exec_lo, 1
loop:
  s_add_u32 s5, s5, 64
  global_atomic_add_u32 v2, v3, s[0:1]
  s_waitcnt_vscnt null, 0x0
spin:
  )") + in_loop +
         R"(
  global_load_b32 v4, v2, s[0:1] glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s6, v4
  s_cmp_lt_u32 s6, s5
  s_cbranch_scc1 spin
  s_add_u32 s4, s4, 1
  s_cmp_lt_u32 s4, )" +
         std::to_string(rounds) + "\n  s_cbranch_scc1 loop\n";
}

void expect_meetings(const char* in_loop, int rounds) {
  for (EngineKind engine : {EngineKind::interpreter, EngineKind::translator})
    for (unsigned threads : {1u, 2u, 4u}) {
      SCOPED_TRACE(threads);
      Dispatch d(meetings(in_loop, rounds), 64, 32);
      d.options.threads = threads;
      d.options.engine = engine;
      const Outcome outcome = d.run();
      EXPECT_FALSE(outcome.fault) << outcome.fault->fault.message;
      EXPECT_EQ(d.buffer[0], 64u * static_cast<unsigned>(rounds));
    }
}

TEST(WaitingGroups, SpinOnACounter) {
  expect_meetings("", kMeetings);
}
TEST(WaitingGroups, SleepOnACounter) {
  expect_meetings("s_sleep 1", kMeetings);
}
// A step of the precise engine is an instruction: that it comes round must be seen there, too, or each visit
// to a group that waits takes a whole slice.
TEST(WaitingGroups, SpinInThePreciseEngine) {
  for (const auto when : {precise::Results::late, precise::Results::random}) {
    Dispatch d(meetings("", 20), 64, 32);
    d.options.threads = 1;
    d.options.precise.results = when;
    const Outcome outcome = d.run();
    EXPECT_FALSE(outcome.fault) << outcome.fault->fault.message;
    EXPECT_EQ(d.buffer[0], 1280u);
    EXPECT_LT(outcome.totals.instructions, 5'000'000u);
  }
}
// A loop that counts its rounds looks like work: such groups only get shorter slices.
TEST(WaitingGroups, SpinOnACounterWithATimeout) {
  expect_meetings("s_add_u32 s8, s8, 1", 10);
}

// Each of two groups on one thread counts its rounds in memory, and how often it sees that the other one has
// got on: about the slices that that one had.
uint32_t slices_of_two_groups(const char* cache_bits) {
  Dispatch d(std::string(R"(
  v_mov_b32 v2, 0
  s_lshl_b32 s4, s2, 2
  v_mov_b32 v3, s4
  s_xor_b32 s4, s4, 4
  v_mov_b32 v4, s4
  s_mov_b32 s5, 0
  s_mov_b32 s7, 0
  s_mov_b32 s8, 0
loop:
  s_add_u32 s5, s5, 1
  v_mov_b32 v5, s5
  global_store_b32 v3, v5, s[0:1]
  global_load_b32 v6, v4, s[0:1] )") +
                 cache_bits + R"(
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s6, v6
  s_cmp_lg_u32 s6, s7
  s_addc_u32 s8, s8, 0
  s_mov_b32 s7, s6
  s_cmp_lt_u32 s5, 0x100000
  s_cbranch_scc1 loop
  v_mov_b32 v5, s8
  global_store_b32 v3, v5, s[0:1] offset:8)",
             2, 32);
  d.options.threads = 1;
  d.options.engine = EngineKind::translator;
  const Outcome outcome = d.run();
  EXPECT_FALSE(outcome.fault) << outcome.fault->fault.message;
  return d.buffer[2] + d.buffer[3];
}

// Slices get longer where a loop can wait for no other group, since what it loads may come out of a cache.
TEST(WaitingGroups, OnesThatCannotWaitKeepTheThreadLonger) {
  const uint32_t may_wait = slices_of_two_groups("glc"), cannot_wait = slices_of_two_groups("");
  EXPECT_GT(may_wait, 100u);
  EXPECT_LT(cannot_wait, 40u);
  EXPECT_GT(cannot_wait, 2u);
}

// As kernels of collective operations do, one on each device.
TEST(WaitingGroups, OfTwoDevicesWithAThreadEach) {
  Dispatch d(meetings("", 3), 64, 32);
  d.launch.grid[0] /= 2;
  Device::Options options;
  options.hardware = hardware::models().front();
  options.threads = 1;
  std::mutex mutex;
  std::condition_variable changed;
  int ended = 0;
  const auto done = [&](Outcome&& outcome) {
    EXPECT_FALSE(outcome.fault || outcome.cancelled);
    std::lock_guard lock(mutex);
    ++ended;
    changed.notify_all();
  };
  Device first(options), second(options);
  first.start(d.launch, 0, done);
  second.start(d.launch, 0, done);
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return ended == 2; }));
}

}  // namespace
}  // namespace lockstep::machine
