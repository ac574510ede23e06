// ds_ordered_count through whole dispatches (guide 13.4.3).
#include <gtest/gtest.h>

#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {
namespace {

// Waits for a while that depends on the wave's number in no simple way, then counts, and stores what it got.
// s2 is the work-group's number.
constexpr char kCount[] = R"(
  s_mul_i32 s4, s2, 0x9e3779b1
  s_lshr_b32 s4, s4, 23
delay:
  s_sub_u32 s4, s4, 1
  s_cbranch_scc0 delay
  s_mov_b32 m0, 0
  v_mov_b32 v1, 1
  ds_ordered_count v2, v1 offset:0x300 gds
  s_waitcnt lgkmcnt(0)
  s_mov_b32 exec_lo, 1
  v_mov_b32 v3, s2
  v_lshlrev_b32 v3, 2, v3
  global_store_b32 v3, v2, s[0:1]
)";

// 13.4.3: processed in the order of the waves' creation, whatever the order of arrival.
TEST(OrderedCount, TenThousandWavesInTheOrderOfCreation) {
  for (unsigned threads : {1u, 2u, 4u}) {
    SCOPED_TRACE(threads);
    Dispatch d(kCount, 10'000, 32, 32, 10'000);
    d.options.threads = threads;
    const Outcome outcome = d.run();
    EXPECT_FALSE(outcome.fault) << outcome.fault->fault.message;
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 10'000; ++i) wrong += d.buffer[i] != i;
    EXPECT_EQ(wrong, 0u);
  }
}

// 13.4.3: until a wave passes its turn on (wave_release) it may count again, and nobody comes between.
TEST(OrderedCount, TurnsAreNotInterrupted) {
  Dispatch d(R"(
  s_mov_b32 m0, 0
  s_mov_b32 exec_lo, 1
  v_mov_b32 v1, 1
  ds_ordered_count v2, v1 offset:0x0 gds
  s_waitcnt lgkmcnt(0)
  ds_ordered_count v3, v1 offset:0x300 gds
  s_waitcnt lgkmcnt(0)
  v_sub_nc_u32 v4, v3, v2
  v_mov_b32 v5, s2
  v_lshlrev_b32 v5, 2, v5
  global_store_b32 v5, v4, s[0:1]
)",
             500, 32);
  d.options.threads = 4;
  EXPECT_FALSE(d.run().fault);
  for (uint32_t i = 0; i < 500; ++i) EXPECT_EQ(d.buffer[i], 1u);
}

// Several waves in a group, the last group partial: creation goes by group, then by wave.
TEST(OrderedCount, WavesOfAGroup) {
  Dispatch d(R"(
  s_bfe_u32 s5, s3, 0x50014
  s_bfe_u32 s6, s3, 0xc0006
  s_mov_b32 m0, 0
  v_mov_b32 v1, 1
  ds_ordered_count v2, v1 offset:0x310 gds
  s_waitcnt lgkmcnt(0)
  s_mov_b32 exec_lo, 1
  v_mov_b32 v3, s6
  v_sub_nc_u32 v2, v2, v3
  s_lshl_b32 s7, s2, 2
  s_add_u32 s7, s7, s5
  v_mov_b32 v4, s7
  v_lshlrev_b32 v4, 2, v4
  v_mov_b32 v5, 1
  v_sub_nc_u32 v5, v5, v2
  global_store_b32 v4, v5, s[0:1]
)",
             100, 128);
  d.launch.grid[0] -= 40;  // the last group has three waves
  d.launch.rsrc2 |= 1u << 10;
  d.launch.ordered_append = true;  // table 11: bits 17:6 of the work-group info are the wave's number
  d.options.threads = 4;
  EXPECT_FALSE(d.run().fault);
  for (uint32_t i = 0; i < 399; ++i) EXPECT_EQ(d.buffer[i], 1u) << i;
  EXPECT_EQ(d.buffer[399], 0u);
}

// 13.4.3: every wave must issue it. One that ends without leaves the others waiting, which is told.
TEST(OrderedCount, WaveThatNeverCounts) {
  Dispatch d(
      "s_cmp_eq_u32 s2, 3\ns_cbranch_scc1 done\ns_mov_b32 m0, 0\nv_mov_b32 v1, 1\n"
      "ds_ordered_count v2, v1 offset:0x300 gds\ns_waitcnt lgkmcnt(0)\ndone: s_nop 0",
      8, 32);
  const Outcome outcome = d.run();
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->fault.kind, FaultKind::deadlock);
  EXPECT_EQ(outcome.fault->group[0], 4u);
  EXPECT_NE(outcome.fault->fault.message.find("the turn of wave 3"), std::string::npos)
      << outcome.fault->fault.message;
}

}  // namespace
}  // namespace lockstep::machine
