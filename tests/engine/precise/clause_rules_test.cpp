// Clauses written wrongly and well (guide 5.2, 5.2.1 and s_clause in 16.5).
#include <gtest/gtest.h>

#include "tests/engine/precise/trap_dispatch.h"

namespace lockstep::machine {
namespace {

std::vector<Finding> findings_of(const std::string& text, unsigned wave_size = 32) {
  Dispatch d("s_mov_b64 s[8:9], s[0:1]\nv_lshlrev_b32 v1, 2, v0\n" + text, 1, 32, wave_size);
  d.options.precise.rules = precise::Rules::warn;
  const Outcome outcome = d.run();
  EXPECT_FALSE(outcome.fault) << text << ": " << outcome.fault->fault.message;
  // The listings use registers without waiting for them, which is another rule's business.
  std::vector<Finding> findings = outcome.findings;
  std::erase_if(findings,
                [](const Finding& finding) { return finding.rule.find("(guide 5.6)") != std::string::npos; });
  return findings;
}

void expect_good(const std::string& text) {
  for (const Finding& finding : findings_of(text)) ADD_FAILURE() << text << "\n  " << finding.rule;
}

// One rule is broken, once, and the report says so.
void expect_broken(const std::string& text, const std::string& words) {
  const auto findings = findings_of(text);
  ASSERT_EQ(findings.size(), 1u) << text << (findings.empty() ? "" : "\n" + findings[1].rule);
  EXPECT_NE(findings[0].rule.find(words), std::string::npos) << text << "\n  " << findings[0].rule;
  EXPECT_NE(findings[0].rule.find("guide 5.2"), std::string::npos);
  EXPECT_EQ(findings[0].count, 1u);
}

std::string lines(unsigned count, const std::string& line) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) text += line + "\n";
  return text;
}

const char* const kMove = "v_mov_b32 v2, v1\n";

// 5.2: the fourteen types. Images wait for their own chapter, the others run.
struct Typed {
  const char* type;
  const char* instructions[2];
};
constexpr Typed kTyped[] = {
    {"VALU", {"v_add_f32 v2, v3, v4", "v_dual_mov_b32 v4, v3 :: v_dual_mov_b32 v5, v1"}},
    {"SMEM", {"s_load_b32 s4, s[8:9], 0x0", "s_load_b64 s[4:5], s[8:9], 0x8"}},
    {"LDS", {"ds_store_b32 v1, v0", "ds_add_rtn_u32 v2, v1, v0"}},
    {"buffer, global or scratch load", {"global_load_b32 v3, v1, s[8:9]", "global_load_u8 v3, v1, s[8:9]"}},
    {"buffer, global or scratch store",
     {"global_store_b32 v1, v0, s[8:9]", "global_store_b8 v1, v0, s[8:9]"}},
    {"buffer, global or scratch atomic",
     {"global_atomic_add_u32 v1, v0, s[8:9]", "global_atomic_or_b32 v3, v1, v0, s[8:9] glc"}},
    {"flat load", {"flat_load_b32 v3, v[6:7]", "flat_load_u8 v3, v[6:7]"}},
    {"flat store", {"flat_store_b32 v[6:7], v0", "flat_store_b8 v[6:7], v0"}},
    {"flat atomic", {"flat_atomic_add_u32 v[6:7], v0", "flat_atomic_or_b32 v3, v[6:7], v0 glc"}}};

const std::string kFlatAddress = "v_mov_b32 v6, s8\nv_mov_b32 v7, s9\n";

TEST(Clauses, OneTypeEach) {
  for (const Typed& typed : kTyped) {
    expect_good(kFlatAddress + "s_clause 0x1\n" + typed.instructions[0] + "\n" + typed.instructions[1]);
    for (const Typed& other : kTyped)
      if (&other != &typed)
        expect_broken(kFlatAddress + "s_clause 0x1\n" + typed.instructions[0] + "\n" + other.instructions[1],
                      std::string(typed.type) + " clause of 2");
  }
}

// 16.5: SIMM16[5:0] is the length less one, from 2 to 63.
TEST(Clauses, Length) {
  expect_good("s_clause 0x3e\n" + lines(63, "v_mov_b32 v2, v1"));
  expect_broken("s_clause 0x0\n" + lines(2, "v_mov_b32 v2, v1"), "s_clause of 1 instructions");
  expect_broken("s_clause 0x3f\n" + lines(64, "v_mov_b32 v2, v1"), "s_clause of 64 instructions");
  // The instruction behind the last one is free again, the last one is not.
  expect_good("s_clause 0x2\n" + lines(3, kMove) + "s_mov_b32 s4, 0");
  expect_broken("s_clause 0x2\n" + lines(2, kMove) + "s_mov_b32 s4, 0", "at place 3");
}

// 5.2: what may never be inside; it ends the clause, so that the rest is not reported.
TEST(Clauses, NeverInside) {
  for (const char* text :
       {"s_mov_b32 s4, 0", "s_cmp_eq_u32 s4, 0", "s_movk_i32 s4, 1", "s_branch next\nnext:", "s_setprio 0",
        "s_sendmsg sendmsg(MSG_INTERRUPT)", "s_waitcnt vmcnt(0)", "s_waitcnt_vscnt null, 0x0", "s_wait_idle",
        "s_waitcnt_depctr 0xfff", "s_dcache_inv", "buffer_gl0_inv", "s_icache_inv"}) {
    expect_broken(std::string("s_clause 0x3\n") + kMove + text + "\ns_mov_b32 s4, 0\n" + kMove, "inside a");
    expect_broken(
        std::string("s_clause 0x3\ns_load_b32 s4, s[8:9], 0x0\n") + text + "\ns_load_b32 s4, s[8:9], 0x0",
        "inside a");
  }
  expect_broken(std::string("s_clause 0x3\n") + kMove + "s_clause 0x1\n" + kMove + kMove,
                "s_clause inside a clause");
  expect_broken(std::string("s_clause 0x3\n") + kMove, "s_endpgm inside a VALU clause");
}

// 5.2: clause-internal instructions: they count, and may not come first.
TEST(Clauses, Internal) {
  expect_good(std::string("s_clause 0x3\n") + kMove + "s_nop 1\ns_sleep 1\n" + kMove + "s_mov_b32 s4, 0");
  expect_good("s_clause 0x2\nds_load_b32 v2, v1\ns_delay_alu instid0(VALU_DEP_1)\nds_load_b32 v3, v1");
  for (const char* text : {"s_nop 0", "s_sleep 1", "s_waitcnt vmcnt(0)"})
    expect_broken(std::string("s_clause 0x1\n") + text + "\n" + kMove + kMove, "a clause that begins with");
  expect_broken(std::string("s_clause 0x2\n") + kMove + "s_delay_alu instid0(VALU_DEP_1)\n" + kMove,
                "s_delay_alu inside a VALU clause");
  // A clause of one VALU instruction and one s_nop has fewer than two of its type.
  expect_broken(std::string("s_clause 0x1\n") + kMove + "s_nop 0", "fewer than two");
}

// 5.2: the instruction behind s_clause gives the type; s_delay_alu goes before it.
TEST(Clauses, OrderOfDelayAndClause) {
  expect_good(std::string("s_delay_alu instid0(VALU_DEP_1)\ns_clause 0x1\n") + kMove + kMove);
  expect_broken(std::string("s_clause 0x1\ns_delay_alu instid0(VALU_DEP_1)\n") + kMove + kMove,
                "s_delay_alu directly behind s_clause");
  expect_broken(std::string("s_clause 0x1\ns_mov_b32 s4, 0\n") + kMove, "there is no clause of its type");
  expect_broken(std::string("s_clause 0x1\ns_clause 0x1\n") + kMove + kMove, "directly behind s_clause");
}

// 5.2: groups between breaks begin with the type and have two instructions of it.
TEST(Clauses, Breaks) {
  expect_good("s_clause 0x20b\n" + lines(12, kMove));                                    // 12, every 2
  expect_good("s_clause 0x30b\n" + lines(4, std::string(kMove) + "s_nop 0\n" + kMove));  // 12, every 3
  expect_broken("s_clause 0x10b\n" + lines(12, kMove), "breaks after every instruction");
  expect_broken("s_clause 0x306\n" + lines(7, kMove), "leaves a last group of one");
  expect_broken(std::string("s_clause 0x305\n") + kMove + kMove + kMove + "s_nop 0\n" + kMove + kMove,
                "first instruction behind a clause break");
  expect_broken(std::string("s_clause 0x305\n") + kMove + "s_nop 0\ns_nop 0\n" + kMove + kMove + kMove,
                "fewer than two");
}

// 5.2: a VALU clause whose first instruction meets EXEC == 0 is ignored; one that started goes on.
TEST(Clauses, ValuWithoutLanes) {
  expect_good(std::string("s_mov_b32 exec_lo, 0\ns_clause 0x3\n") + kMove + "s_mov_b32 s4, 0\n" + kMove);
  expect_broken(std::string("s_clause 0x3\nv_cmpx_gt_u32 0, v1\n") + kMove + "s_mov_b32 s4, 0\n" + kMove,
                "s_mov_b32 inside a VALU clause");
  // Wave64 asks for both halves of EXEC.
  const auto findings = findings_of(
      std::string("s_mov_b32 exec_lo, 0\ns_mov_b32 exec_hi, 1\ns_clause 0x3\n") + kMove + "s_mov_b32 s4, 0",
      64);
  EXPECT_EQ(findings.size(), 1u);
}

// 5.2: if the first instruction is skipped there is no clause; scalar memory is never skipped.
TEST(Clauses, FirstInstructionSkipped) {
  expect_good("s_mov_b32 exec_lo, 0\ns_clause 0x1\nglobal_load_b32 v3, v1, s[8:9]\ns_mov_b32 s4, 0");
  expect_good("s_mov_b32 exec_lo, 0\ns_clause 0x1\nds_load_b32 v3, v1\ns_mov_b32 s4, 0");
  expect_broken("s_mov_b32 exec_lo, 0\ns_clause 0x1\ns_load_b32 s4, s[8:9], 0x0\ns_mov_b32 s4, 0",
                "SMEM clause");
}

// 3.2.3: it is skipped only where its counter is zero; else the clause is there, lanes or not.
TEST(Clauses, FirstInstructionNotSkipped) {
  const std::string without_lanes = "s_mov_b32 exec_lo, 0\n";
  struct Case {
    std::string before, wait, instruction, type;
  };
  const Case cases[] = {
      {"global_load_b32 v3, v1, s[8:9]\n", "s_waitcnt vmcnt(0)\n", "global_load_b32 v4, v1, s[8:9]\n",
       "load clause"},
      {"ds_load_b32 v3, v1\n", "s_waitcnt lgkmcnt(0)\n", "ds_load_b32 v4, v1\n", "LDS clause"},
      {"s_load_b32 s4, s[8:9], 0x0\n", "s_waitcnt lgkmcnt(0)\n", "ds_load_b32 v4, v1\n", "LDS clause"},
      {"global_store_b32 v1, v0, s[8:9]\nglobal_load_b32 v3, v1, s[8:9]\n", "s_waitcnt_vscnt null, 0x0\n",
       "global_store_b32 v1, v0, s[8:9]\n", "store clause"}};
  for (const Case& test : cases) {
    const std::string clause = without_lanes + "s_clause 0x1\n" + test.instruction + "s_mov_b32 s5, 0\n";
    expect_broken(test.before + clause, test.type);
    expect_good(test.before + test.wait + clause);
    expect_good("s_waitcnt vmcnt(0)\n" + clause);
  }
  // Another counter keeps nothing from being skipped, and one that must come down to one is not zero.
  expect_good("global_load_b32 v3, v1, s[8:9]\n" + without_lanes +
              "s_clause 0x1\nglobal_store_b32 v1, v0, s[8:9]\ns_mov_b32 s5, 0");
  expect_broken("global_load_b32 v3, v1, s[8:9]\ns_waitcnt vmcnt(1)\n" + without_lanes +
                    "s_clause 0x1\nglobal_load_b32 v4, v1, s[8:9]\ns_mov_b32 s5, 0",
                "load clause");
}

// 16.5: LDSDIR, VINTERP and GDS have no clause.
TEST(Clauses, InstructionsWithoutClause) {
  expect_broken("s_mov_b32 m0, 0\ns_clause 0x1\nlds_direct_load v2\nlds_direct_load v2",
                "lds_direct_load as the first instruction");
  expect_broken(std::string("s_clause 0x1\n") + kMove + "v_interp_p10_f32 v2, v3, v4, v5",
                "v_interp_p10_f32 inside a VALU clause");
  const std::string load = "ds_load_b32 v2, v1 gds\n";
  expect_broken("s_mov_b32 m0, 0x1000\ns_clause 0x1\n" + load + load, "ds_load_b32 as the first instruction");
  expect_broken("s_mov_b32 m0, 0x1000\ns_clause 0x1\nds_load_b32 v3, v1\n" + load,
                "ds_load_b32 inside an LDS clause");
}

// 5.2.1: whatever sends a wave to its trap handler breaks the clause: neither the handler's instructions nor
// those behind its return are part of it.
TEST(Clauses, ATrapBreaksThem) {
  for (unsigned at = 0; at < 5; ++at) {
    TrapDispatch d("s_clause 0x3\n" + lines(4, "v_mov_b32 v2, v1") + "s_mov_b32 s4, 0",
                   kNote + kClearTrapsts + kReturn);
    d.options.precise.rules = precise::Rules::warn;
    d.traps().scheduled = {{at, {1, false}}};
    const Outcome outcome = d.run();
    EXPECT_FALSE(outcome.fault);
    for (const Finding& finding : outcome.findings)
      EXPECT_EQ(finding.rule.find("guide 5.2"), std::string::npos) << at << ": " << finding.rule;
  }
}

TEST(Clauses, Faults) {
  Dispatch d("s_nop 0\ns_clause 0x1\nv_mov_b32 v1, v0\ns_mov_b32 s4, 0\ns_mov_b32 s5, 0", 3, 64);
  d.options.precise.rules = precise::Rules::fault;
  const Outcome outcome = d.run();
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->fault.kind, FaultKind::broken_rule);
  EXPECT_EQ(outcome.fault->fault.pc, d.pc(3));
  EXPECT_EQ(outcome.fault->group[0], 0u);
  EXPECT_TRUE(outcome.findings.empty());
}

// Every wave and every round of a loop counts.
TEST(Clauses, Counts) {
  Dispatch d(
      "s_mov_b32 s4, 5\nloop: s_clause 0x1\nv_mov_b32 v1, v0\ns_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\n"
      "s_cbranch_scc1 loop",
      3, 64);
  d.options.precise.rules = precise::Rules::warn;
  const Outcome outcome = d.run();
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].count, 3u * 2 * 5);
}

}  // namespace
}  // namespace lockstep::machine
