// Rules looked after beside a plain interpreter: what one wave, or one time around a loop, has shown about an
// instruction holds for another that comes to it in the same state, and for no other.
#include <gtest/gtest.h>

#include <string>

#include "tests/engine/precise/broken_rules.h"

namespace lockstep::precise {
namespace {

std::string counts_of(const std::string& text, uint32_t items, bool is_precise) {
  machine::Dispatch dispatch(text, 1, items);
  dispatch.options.precise.rules = Rules::warn;
  dispatch.options.precise.exceptions = is_precise;
  dispatch.options.threads = 1;
  const machine::Outcome outcome = dispatch.run();
  EXPECT_FALSE(outcome.fault) << outcome.fault->fault.message;
  std::string counts;
  for (const Finding& finding : outcome.findings)
    counts +=
        (counts.empty() ? "" : ", ") + std::string(finding.checker) + " " + std::to_string(finding.count);
  return counts;
}

// What is broken and how often, "waits 3, legality 1" by address, by waves of 32 items. The precise engine
// must say the same.
std::string counts_of(const std::string& text, uint32_t items) {
  EXPECT_EQ(counts_of(text, items, false), counts_of(text, items, true)) << text;
  return counts_of(text, items, false);
}

// s4 is the wave's first item.
const std::string kBegin = "v_readfirstlane_b32 s4, v0\nv_mov_b32 v1, 0\n";

TEST(RuleStates, EachWaveAndEachTimeAroundALoopCounts) {
  EXPECT_EQ(counts_of("v_mov_b32 v1, 0\ns_mov_b32 s8, 5\nagain:\nds_load_b32 v3, v1\nv_mov_b32 v4, v3\n"
                      "s_waitcnt lgkmcnt(0)\ns_sub_i32 s8, s8, 1\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc1 again\n",
                      96),
            "waits 15");
}

// The same instruction, with and without the one before it.
TEST(RuleStates, WaysThatMeetAreTwoStates) {
  for (const std::string skipped : {"s_cbranch_scc1 next\n", "s_cbranch_scc0 next\n"})
    EXPECT_EQ(counts_of(kBegin + "v_mov_b32 v3, 0\ns_cmp_eq_u32 s4, 0\n" + skipped +
                            "ds_load_b32 v3, v1\nnext:\nv_mov_b32 v4, v3\ns_waitcnt lgkmcnt(0)\n",
                        64),
              "waits 1");
}

// What no lane executes is not under way.
TEST(RuleStates, LanesCount) {
  for (const std::string on : {"s_cselect_b32 exec_lo, -1, 0\n", "s_cselect_b32 exec_lo, 0, -1\n"})
    EXPECT_EQ(counts_of(kBegin + "v_mov_b32 v3, 0\ns_cmp_eq_u32 s4, 0\n" + on +
                            "ds_load_b32 v3, v1\ns_mov_b32 exec_lo, -1\nv_mov_b32 v4, v3\n"
                            "s_waitcnt lgkmcnt(0)\n",
                        64),
              "waits 1");
}

// A FLAT load is waited for where its lanes go.
TEST(RuleStates, WhereFlatLoadsGoCounts) {
  for (const std::string compare : {"s_cmp_eq_u32 s4, 0\n", "s_cmp_lg_u32 s4, 0\n"})
    for (const std::string wait : {"s_waitcnt lgkmcnt(0)\n", "s_waitcnt vmcnt(0)\n"})
      EXPECT_EQ(counts_of(kBegin + "s_mov_b64 s[6:7], src_shared_base\n" + compare +
                              "s_cselect_b32 s8, s0, 0\ns_cselect_b32 s9, s1, s7\nv_mov_b32 v4, s8\n"
                              "v_mov_b32 v5, s9\nflat_load_b32 v3, v[4:5]\n" +
                              wait + "v_mov_b32 v6, v3\ns_wait_idle\n",
                          64),
                "waits 1");
}

// A limit in a register is each wave's own.
TEST(RuleStates, LimitsInRegistersCount) {
  // The assembler knows it with NULL alone.
  const std::string wait = machine::encoded("s_waitcnt_lgkmcnt null, 0x0", {{16, 7, 4}});
  EXPECT_EQ(counts_of(kBegin + "s_lshr_b32 s4, s4, 5\nds_load_b32 v3, v1\n" + wait +
                          "v_mov_b32 v6, v3\ns_wait_idle\n",
                      96),
            "waits 2");
}

}  // namespace
}  // namespace lockstep::precise
