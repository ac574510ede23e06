// How global wave sync, ordered counts and GDS must stand in a program (guide 13.4.1, 16.15).
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {
namespace {

std::vector<Finding> findings_of(const std::string& text) {
  Dispatch d("s_mov_b32 m0, 0x1000\nv_mov_b32 v1, 0\nv_mov_b32 v2, 0\nv_mov_b32 v3, 0\n" + text, 1, 32);
  d.options.precise.rules = precise::Rules::warn;
  const Outcome outcome = d.run();
  EXPECT_FALSE(outcome.fault) << text << ": " << outcome.fault->fault.message;
  std::vector<Finding> findings;
  for (const Finding& finding : outcome.findings)
    if (finding.rule.find("guide 13.4.1") != std::string::npos ||
        finding.rule.find("16.15") != std::string::npos) {
      EXPECT_EQ(finding.count, 1u);
      findings.push_back(finding);
    }
  return findings;
}

void expect_broken(const std::string& text, const std::string& words,
                   Severity severity = FindingDetail{}.severity) {
  const auto findings = findings_of(text);
  ASSERT_EQ(findings.size(), 1u) << text;
  EXPECT_NE(findings[0].rule.find(words), std::string::npos) << findings[0].rule;
  EXPECT_EQ(findings[0].detail.severity, severity) << text;
}

const std::string kWait = "s_waitcnt lgkmcnt(0)\n", kBarrier = "ds_gws_barrier v1 offset:1 gds\n",
                  kStore = "ds_store_b32 v1, v2 gds\n";

// 13.4.1: wait, instruction, wait, anything but the end.
TEST(GlobalSyncRules, GoodForm) {
  EXPECT_EQ(findings_of(kStore + kWait + kBarrier + kWait + "s_nop 0").size(), 0u);
  EXPECT_EQ(findings_of(kBarrier + kWait + kBarrier + kWait + "s_nop 0").size(), 0u);
  EXPECT_EQ(findings_of(kBarrier + "s_waitcnt_lgkmcnt null, 0x0\ns_nop 0").size(), 0u);
  EXPECT_EQ(findings_of("ds_ordered_count v2, v1 offset:0x300 gds\n" + kWait + "s_nop 0").size(), 0u);
}

TEST(GlobalSyncRules, NoWaitBehind) {
  for (const char* text : {"s_nop 0", "s_waitcnt vmcnt(0)", "s_waitcnt lgkmcnt(1)", "s_endpgm"})
    expect_broken(kBarrier + text + "\ns_nop 0", "not s_waitcnt lgkmcnt(0) right behind");
}

// 13.4.4: resources must be configured before use.
TEST(GlobalSyncRules, BarrierWithoutACount) {
  const auto is_told = [](const std::string& before) {
    Dispatch d("s_mov_b32 m0, 0\nv_mov_b32 v1, 0\nv_mov_b32 v2, 1\n" + before + kBarrier + kWait + "s_nop 0",
               1, 32);
    d.options.precise.rules = precise::Rules::warn;
    const Outcome outcome = d.run();
    EXPECT_FALSE(outcome.fault) << outcome.fault->fault.message;
    return std::ranges::any_of(outcome.findings, [](const Finding& finding) {
      return finding.rule.find("never been given a count") != std::string::npos;
    });
  };
  EXPECT_TRUE(is_told(""));
  EXPECT_FALSE(is_told("ds_gws_init v2 offset:1 gds\n" + kWait));
  EXPECT_TRUE(is_told("ds_gws_init v2 offset:2 gds\n" + kWait));
  EXPECT_FALSE(is_told("ds_gws_init v2 offset:2 gds\n" + kWait + "s_mov_b32 m0, 0x10000\n"));
}

// As LLVM ends programs, and AMD's __amd_rocclr_gwsInit: a note, and no fault where broken rules are faults.
TEST(GlobalSyncRules, EndRightBehindTheWait) {
  expect_broken(kBarrier + kWait + "s_endpgm", "the program ends", Severity::note);
  Dispatch d("s_mov_b32 m0, 0\nv_mov_b32 v1, 1\nds_gws_init v1 gds\n" + kWait + "s_endpgm", 1, 32);
  d.options.precise.rules = precise::Rules::fault;
  const Outcome outcome = d.run();
  EXPECT_FALSE(outcome.fault) << outcome.fault->fault.message;
}

TEST(GlobalSyncRules, GdsUnderWay) {
  expect_broken(kStore + "v_mov_b32 v4, 0\n" + kBarrier + kWait + "s_nop 0", "under way");
}

TEST(GlobalSyncRules, SourceIsDestination) {
  expect_broken("ds_ordered_count v1, v1 offset:0x300 gds\n" + kWait + "s_nop 0", "same VGPR");
}

// 16.15, ds_append: on GDS the offset must be zero.
TEST(GlobalSyncRules, AppendWithAnOffset) {
  expect_broken("ds_append v2 offset:4 gds\n" + kWait, "must be zero");
  EXPECT_EQ(findings_of("ds_append v2 gds\n" + kWait).size(), 0u);
}

TEST(GlobalSyncRules, BrokenRulesMayFault) {
  Dispatch d("s_mov_b32 m0, 0\nds_gws_sema_v gds\ns_nop 0", 1, 32);
  d.options.precise.rules = precise::Rules::fault;
  const Outcome outcome = d.run();
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->fault.kind, FaultKind::broken_rule);
  EXPECT_EQ(outcome.fault->instruction, "s_nop 0");
}

}  // namespace
}  // namespace lockstep::machine
