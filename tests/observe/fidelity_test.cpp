// Where results that are not exact go: v_sin_f32 and v_rcp_f64 are such, moves, adds and loads are not.
#include "observe/fidelity/fidelity.h"

#include <gtest/gtest.h>

#include "tests/machine/test_dispatch.h"

namespace lockstep::observe {
namespace {

constexpr auto kAddress = static_cast<size_t>(Sink::address), kBranch = static_cast<size_t>(Sink::branch),
               kMemory = static_cast<size_t>(Sink::memory);

// A dispatch of a listing under the observer. At entry: s[0:1] the buffer's address, s2 the work-group's
// number, v0 the item.
struct Observed {
  FidelityListener observer;
  machine::Dispatch dispatch;
  machine::Outcome outcome;

  explicit Observed(std::string_view text, uint32_t groups = 1, uint32_t items = 32, unsigned wave_size = 32,
                    Math math = Math::exact)
      : observer(math), dispatch(text, groups, items, wave_size) {
    dispatch.launch.scratch_bytes = 64;
    dispatch.options.threads = 4;
    dispatch.options.precise.listener = &observer;
    dispatch.options.math = math;
    outcome = dispatch.run();
    EXPECT_FALSE(outcome.fault) << outcome.fault->fault.message;
  }

  // Uses of the results of an instruction, by sink; zeros if it is no finding.
  std::array<uint64_t, kSinks> uses(std::string_view name) const {
    for (const Finding& finding : observer.findings())
      if (finding.name == name) return finding.uses;
    return {};
  }
};

using Uses = std::array<uint64_t, kSinks>;

TEST(Fidelity, ExactInstructionsLeaveNoFinding) {
  Observed o(
      "v_lshlrev_b32 v1, 2, v0\nv_add_f32 v2, v0, v0\nv_rcp_f32 v2, v2\nglobal_store_b32 v1, v2, s[0:1]\n");
  EXPECT_TRUE(o.observer.findings().empty());
  EXPECT_EQ(o.observer.instructions(), o.outcome.totals.instructions);
}

TEST(Fidelity, FastMathIsAFinding) {
  const char* text =
      "v_mov_b32 v2, 0x00837bf0\nv_rcp_f32 v2, v2\nv_lshlrev_b32 v1, 2, v0\nglobal_store_b32 v1, v2, "
      "s[0:1]\n";
  Observed exact(text), fast(text, 1, 32, 32, Math::fast);
  EXPECT_TRUE(exact.observer.findings().empty());
  ASSERT_EQ(fast.observer.findings().size(), 1u);
  EXPECT_EQ(fast.observer.findings()[0].doubt.fidelity, semantics::Fidelity::bounded);
  EXPECT_EQ(fast.uses("v_rcp_f32"), (Uses{0, 0, 1}));
  // The argument with the largest error of the card's.
  EXPECT_EQ(exact.dispatch.buffer[0], 0x7e793766u);
  EXPECT_EQ(fast.dispatch.buffer[0], 0x7e793765u);
}

TEST(Fidelity, ObservedRunsCountAndComputeAsPlainOnes) {
  Observed o("s_nop 0\ns_nop 0\nv_lshlrev_b32 v1, 2, v0\ns_waitcnt 0\nglobal_store_b32 v1, v1, s[0:1]\n", 1,
             64);
  EXPECT_EQ(o.observer.instructions(), 2 * 6u);
  EXPECT_EQ(o.outcome.totals.instructions, 2 * 6u);
  EXPECT_EQ(o.dispatch.buffer[63], 63u * 4);
}

TEST(Fidelity, ResultThatGoesNowhere) {
  Observed o("v_sin_f32 v2, v0\nv_mov_b32 v2, 0\nv_lshlrev_b32 v1, 2, v0\nglobal_store_b32 v1, v2, s[0:1]\n");
  ASSERT_EQ(o.observer.findings().size(), 1u);
  EXPECT_EQ(o.observer.findings()[0].name, "v_sin_f32");
  EXPECT_EQ(o.observer.findings()[0].executions, 1u);
  EXPECT_EQ(o.uses("v_sin_f32"), (Uses{0, 0, 0}));
}

TEST(Fidelity, StoredToMemory) {
  Observed o(
      "v_sin_f32 v2, v0\nv_add_f32 v3, v2, v2\nv_lshlrev_b32 v1, 2, v0\nglobal_store_b32 v1, v3, s[0:1]\n",
      3);
  EXPECT_EQ(o.uses("v_sin_f32"), (Uses{0, 0, 3}));
}

TEST(Fidelity, UsedAsAnAddress) {
  Observed o(
      "v_sin_f32 v2, v0\nv_and_b32 v2, 0xff, v2\nv_lshlrev_b32 v2, 2, v2\nglobal_load_b32 v3, v2, s[0:1]\n"
      "v_lshlrev_b32 v1, 2, v0\ns_waitcnt 0\nglobal_store_b32 v1, v3, s[0:1]\n");
  // What was loaded from there is in doubt too.
  EXPECT_EQ(o.uses("v_sin_f32"), (Uses{1, 0, 1}));
}

TEST(Fidelity, DecidesBranches) {
  Observed scc(
      "v_sin_f32 v2, v0\nv_readfirstlane_b32 s4, v2\ns_cmp_eq_u32 s4, 0\ns_cbranch_scc1 over\ns_nop "
      "0\nover:\n");
  EXPECT_EQ(scc.uses("v_sin_f32"), (Uses{0, 1, 0}));
  Observed vcc("v_sin_f32 v2, v0\nv_cmp_lt_f32 vcc_lo, 0.5, v2\ns_cbranch_vccz over\ns_nop 0\nover:\n");
  EXPECT_EQ(vcc.uses("v_sin_f32"), (Uses{0, 1, 0}));
  Observed exec("v_sin_f32 v2, v0\nv_cmpx_lt_f32 0.5, v2\n");
  EXPECT_EQ(exec.uses("v_sin_f32"), (Uses{0, 1, 0}));
  Observed saved("v_sin_f32 v2, v0\nv_cmp_lt_f32 vcc_lo, 0.5, v2\ns_and_saveexec_b32 s4, vcc_lo\n");
  EXPECT_EQ(saved.uses("v_sin_f32"), (Uses{0, 1, 0}));
}

// The lane's number takes the place of a VGPR: lane 5's value is read back from its own address.
TEST(Fidelity, ThroughAddressesOfTheLaneNumber) {
  Observed o(
      "v_sin_f32 v2, v0\nglobal_store_addtid_b32 v2, s[0:1]\ns_waitcnt_vscnt null, 0\n"
      "s_load_b32 s4, s[0:1], 64\ns_waitcnt 0\ns_cmp_eq_u32 s4, 0\ns_cbranch_scc1 over\ns_nop 0\nover:\n");
  EXPECT_EQ(o.uses("v_sin_f32"), (Uses{0, 1, 1}));
}

// The index of a pair loses its low bit (guide 3.3.1.3).
TEST(Fidelity, ThroughPairsThatM0Chooses) {
  Observed o(
      "v_sin_f32 v2, v0\nv_readfirstlane_b32 s8, v2\ns_mov_b32 m0, 5\ns_movrels_b64 s[6:7], s[4:5]\n"
      "s_cmp_eq_u32 s6, 0\ns_cbranch_scc1 over\ns_nop 0\nover:\n");
  EXPECT_EQ(o.uses("v_sin_f32"), (Uses{0, 1, 0}));
}

TEST(Fidelity, ThroughLds) {
  // Written to one line, read from it and from another.
  constexpr std::string_view kText =
      "v_sin_f32 v2, v0\nv_mov_b32 v3, 0\nds_store_b32 v3, v2\nds_load_b32 v4, v3 offset:%\n"
      "v_lshlrev_b32 v1, 2, v0\ns_waitcnt 0\nglobal_store_b32 v1, v4, s[0:1]\n";
  auto at = [&](std::string_view offset) {
    std::string text(kText);
    return text.replace(text.find('%'), 1, offset);
  };
  EXPECT_EQ(Observed(at("0")).uses("v_sin_f32"), (Uses{0, 0, 1}));
  EXPECT_EQ(Observed(at("256")).uses("v_sin_f32"), (Uses{0, 0, 0}));
}

TEST(Fidelity, LdsOfTheNextGroupIsClean) {
  // Only group 0 stores a sine; all of them read LDS and store to memory.
  Observed o(
      "v_mov_b32 v3, 0\nv_lshlrev_b32 v1, 2, v0\ns_cmp_eq_u32 s2, 0\ns_cbranch_scc0 over\n"
      "v_sin_f32 v2, v0\nds_store_b32 v3, v2\nover:\n"
      "ds_load_b32 v4, v3\ns_waitcnt 0\nglobal_store_b32 v1, v4, s[0:1]\n",
      4);
  EXPECT_EQ(o.uses("v_sin_f32"), (Uses{0, 0, 1}));
}

TEST(Fidelity, ThroughMemoryAndScratch) {
  Observed memory(
      "v_sin_f32 v2, v0\nv_lshlrev_b32 v1, 2, v0\nglobal_store_b32 v1, v2, s[0:1]\ns_load_b32 s4, s[0:1], "
      "0x40\n"
      "s_load_b32 s5, s[0:1], 0x400\ns_waitcnt 0\ns_cmp_eq_u32 s5, 0\ns_cbranch_scc1 next\ns_nop 0\nnext:\n"
      "s_cmp_eq_u32 s4, 0\ns_cbranch_scc1 over\ns_nop 0\nover:\n");
  EXPECT_EQ(memory.uses("v_sin_f32"), (Uses{0, 1, 1}));
  Observed scratch(
      "v_sin_f32 v2, v0\nscratch_store_b32 off, v2, off\nscratch_load_b32 v3, off, off\ns_waitcnt 0\n"
      "v_lshlrev_b32 v1, 2, v0\nglobal_store_b32 v1, v3, s[0:1]\n");
  EXPECT_EQ(scratch.uses("v_sin_f32"), (Uses{0, 0, 1}));
}

TEST(Fidelity, InactiveLanesKeepTheirDoubt) {
  Observed o(
      "v_sin_f32 v2, v0\ns_mov_b32 exec_lo, 1\nv_mov_b32 v2, 0\ns_mov_b32 exec_lo, -1\n"
      "v_lshlrev_b32 v1, 2, v0\nglobal_store_b32 v1, v2, s[0:1]\n");
  EXPECT_EQ(o.uses("v_sin_f32"), (Uses{0, 0, 1}));
}

TEST(Fidelity, HalvesOfVopdAreFollowedApart) {
  Observed o(
      "v_sin_f32 v2, v0\nv_mov_b32 v5, 1.0\nv_dual_mov_b32 v4, v2 :: v_dual_mov_b32 v7, v5\n"
      "v_lshlrev_b32 v1, 2, v0\nglobal_store_b32 v1, v7, s[0:1]\n");
  EXPECT_EQ(o.uses("v_sin_f32"), (Uses{0, 0, 0}));
}

TEST(Fidelity, RegistersThatM0Chooses) {
  Observed o(
      "v_sin_f32 v4, v0\ns_mov_b32 m0, 2\nv_movrels_b32 v6, v2\nv_movrels_b32 v7, v1\n"
      "v_lshlrev_b32 v1, 2, v0\nglobal_store_b32 v1, v6, s[0:1]\nglobal_store_b32 v1, v7, s[0:1]\n");
  EXPECT_EQ(o.uses("v_sin_f32"), (Uses{0, 0, 1}));
}

TEST(Fidelity, AtomicsThatAreNotExactReachMemoryThemselves) {
  Observed o("v_mov_b32 v1, 0\nv_mov_b32 v2, 1.0\nglobal_atomic_add_f32 v1, v2, s[0:1]\n");
  EXPECT_EQ(o.uses("global_atomic_add_f32"), (Uses{0, 0, 1}));
  EXPECT_EQ(o.dispatch.buffer[0], interpreter::f32(32));
}

TEST(Fidelity, CornerCasesComeLastAndFormsCount) {
  Observed o(
      "v_fma_f32 v2, v0, v0, v0\nv_sin_f32 v3, v0\nv_mov_b32_dpp v4, v0 row_shr:1 row_mask:0xf bank_mask:0xf "
      "fi:1\n",
      1, 64, 64);
  const std::vector<Finding> findings = o.observer.findings();
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].name, "v_sin_f32");
  EXPECT_EQ(findings[1].name, "v_fma_f32");
  EXPECT_EQ(findings[2].name, "DPP with FETCH_INACTIVE");
}

TEST(Fidelity, PlacesAreThoseOfTheFirstUse) {
  Observed o(
      "v_sin_f32 v2, v0\nv_lshlrev_b32 v1, 2, v0\nglobal_store_b32 v1, v2, s[0:1]\n"
      "global_store_b32 v1, v2, s[0:1] offset:128\n");
  const Finding finding = o.observer.findings().at(0);
  EXPECT_EQ(finding.use_pc[kMemory], finding.first_pc + 8);
  EXPECT_EQ(finding.uses[kMemory], 2u);
  EXPECT_EQ(finding.use_pc[kAddress], 0u);
  EXPECT_EQ(finding.uses[kBranch], 0u);
}

}  // namespace
}  // namespace lockstep::observe
