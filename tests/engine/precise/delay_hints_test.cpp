// s_delay_alu written wrongly (guide 5.7, table 19).
#include <gtest/gtest.h>

#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {
namespace {

std::vector<Finding> findings_of(std::string_view text) {
  Dispatch d(text, 2, 32);
  d.options.precise.rules = precise::Rules::warn;
  const Outcome outcome = d.run();
  EXPECT_FALSE(outcome.fault);
  return outcome.findings;
}

TEST(DelayHints, GoodOnes) {
  EXPECT_TRUE(findings_of("v_mov_b32 v1, v0\ns_delay_alu instid0(VALU_DEP_1)\nv_mov_b32 v2, v1\n"
                          "s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_1) | instid1(VALU_DEP_2)\n"
                          "v_mov_b32 v3, v2\nv_mov_b32 v4, v2\nv_mov_b32 v5, v3\n"
                          "s_delay_alu instid0(SALU_CYCLE_1)\ns_mov_b32 s3, s4")
                  .empty());
}

TEST(DelayHints, ReservedCodes) {
  for (const char* hint : {"8", "12", "0x60", "0x400"}) {  // dependency 8 and 12, skip 6, second dependency 8
    const auto findings = findings_of(std::string("s_delay_alu ") + hint + "\nv_mov_b32 v1, v0");
    ASSERT_EQ(findings.size(), 1u) << hint;
    EXPECT_NE(findings[0].rule.find("reserved code"), std::string::npos);
    EXPECT_EQ(findings[0].count, 2u);  // both waves
  }
}

TEST(DelayHints, ReplacedBeforeUse) {
  // The second hint comes while the first still has to say something of the instruction after the next.
  const auto findings = findings_of(
      "s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_1) | instid1(VALU_DEP_2)\nv_mov_b32 v3, v2\n"
      "s_delay_alu instid0(VALU_DEP_1)\nv_mov_b32 v4, v2\nv_mov_b32 v5, v3");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].rule.find("before the previous one was used up"), std::string::npos);
  EXPECT_EQ(findings[0].detail.severity, Severity::note);  // LLVM does it, and it changes no result
}

// LLVM's hints reach over calls, and those of the function that is called do not replace them.
TEST(DelayHints, CallsEndThem) {
  EXPECT_TRUE(
      findings_of("s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_2) | instid1(VALU_DEP_2)\n"
                  "v_mov_b32 v3, v2\ns_call_b64 s[4:5], function\nv_mov_b32 v4, v2\nv_mov_b32 v5, v3\n"
                  "s_endpgm\nfunction:\ns_delay_alu instid0(VALU_DEP_1)\nv_mov_b32 v6, v3\n"
                  "s_setpc_b64 s[4:5]")
          .empty());
}

// Table 19: the second dependency is the next instruction's (0, "same"), that of the one behind it (1), or of
// one still further on (2 to 5). Only a hint before it is used up replaces it.
TEST(DelayHints, SkipsSayWhenTheyAreUsedUp) {
  const auto replaces = [](const std::string& hint, unsigned instructions) {
    std::string text = "s_delay_alu " + hint + "\n";
    for (unsigned i = 0; i < instructions; ++i) text += "v_mov_b32 v1, v0\n";
    return !findings_of(text + "s_delay_alu instid0(VALU_DEP_1)\nv_mov_b32 v1, v0").empty();
  };
  const char* const kSkips[] = {"SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"};
  for (unsigned skip = 0; skip < 6; ++skip) {
    const std::string hint =
        std::string("instid0(VALU_DEP_1) | instskip(") + kSkips[skip] + ") | instid1(VALU_DEP_2)";
    for (unsigned between = 1; between < 8; ++between)
      EXPECT_EQ(replaces(hint, between), between < skip + 1) << hint << ", " << between;
  }
  // Without a second dependency the skip says nothing.
  EXPECT_FALSE(replaces("instid0(VALU_DEP_1) | instskip(SKIP_4)", 1));
  EXPECT_TRUE(replaces("instid0(VALU_DEP_1)", 0));
}

TEST(DelayHints, FaultWhenAsked) {
  Dispatch d("s_nop 0\ns_delay_alu 8\nv_mov_b32 v1, v0", 1, 32);
  d.options.precise.rules = precise::Rules::fault;
  const Outcome outcome = d.run();
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->fault.kind, FaultKind::broken_rule);
  EXPECT_EQ(outcome.fault->fault.pc, d.pc(1));
}

}  // namespace
}  // namespace lockstep::machine
