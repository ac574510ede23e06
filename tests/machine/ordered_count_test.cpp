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
    std::printf("%u threads: %.2f s\n", threads, outcome.seconds);
  }
}

}  // namespace
}  // namespace lockstep::machine
