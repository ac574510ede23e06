// Instructions that have no translation are executed by the interpreter in the middle of translated code.
#include <gtest/gtest.h>

#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

using interpreter::assembled;
using interpreter::TestWave;

// Runs off the end, so that all registers can be compared.
std::string compare(std::string_view text, const Start& start = {}) {
  EnginePair pair(start);
  std::vector<uint32_t> code = assembled(text, start.wave_size);
  code.pop_back();
  return pair.run(code);
}

// Values that translated code holds go into the instruction, and its result comes back, in lanes that are
// off, too.
TEST(Steps, SeeAndLeaveAllRegisters) {
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x00ff'0f0f}, uint64_t{1}})
    EXPECT_EQ(compare("v_add_nc_u32 v1, v2, v3\ns_add_u32 s40, s41, s42\ns_mov_b32 m0, 3\n"
                      "v_movrels_b32 v7, v1\nv_mul_u32_u24 v8, v7, v1\ns_movrels_b32 s50, s37\n"
                      "v_cmp_gt_u32 vcc_lo, v7, v8\nds_bpermute_b32 v9, v8, v7\ns_mov_b32 s51, vcc_lo\n"
                      "v_add_nc_u32 v10, v9, v8",
                      {.exec = exec, .seed = 3}),
              "");
}

// A lane that is off is read after EXEC was narrowed: what was written there before must be in the wave.
TEST(Steps, ReadLanesThatAreOff) {
  EXPECT_EQ(
      compare(
          "v_add_nc_u32 v1, v2, v3\ns_mov_b32 exec_lo, 0xff00\nv_mov_b32 v1, 5\nds_bpermute_b32 v9, v0, v1\n"
          "v_readlane_b32 s60, v1, 2\ns_mov_b32 exec_lo, -1\nv_add_nc_u32 v10, v9, v1"),
      "");
}

TEST(Steps, InLoops) {
  EXPECT_EQ(
      compare("s_mov_b32 s60, 20\nloop:\nv_add_nc_u32 v1, v1, v2\nds_swizzle_b32 v2, v1 offset:0x401f\n"
              "s_sub_u32 s60, s60, 1\ns_cmp_lg_u32 s60, 0\ns_cbranch_scc1 loop\nv_add_nc_u32 v3, v1, v2"),
      "");
}

TEST(Steps, ThatChangeExec) {
  EXPECT_EQ(compare("v_mov_b32 v1, 1\nv_cmpx_lt_u32_e64_dpp v2, v3 row_mirror\nv_mov_b32 v1, 2\n"
                    "s_mov_b32 exec_lo, -1\nv_add_nc_u32 v1, v1, v1"),
            "");
}

// The callee is translated too, and comes back.
TEST(Steps, Calls) {
  EXPECT_EQ(compare("s_getpc_b64 s[60:61]\ns_add_u32 s60, s60, 28\ns_addc_u32 s61, s61, 0\nv_mov_b32 v1, 1\n"
                    "s_swappc_b64 s[62:63], s[60:61]\nv_add_nc_u32 v1, v1, v1\ns_branch done\n"
                    "callee:\nv_add_nc_u32 v1, 5, v1\ns_setpc_b64 s[62:63]\ndone:\nv_add_nc_u32 v2, v1, v1"),
            "");
  EXPECT_EQ(compare("v_mov_b32 v1, 1\ns_call_b64 s[62:63], callee\nv_add_nc_u32 v1, v1, v1\ns_branch done\n"
                    "callee:\nv_add_nc_u32 v1, 5, v1\ns_setpc_b64 s[62:63]\ndone:\nv_add_nc_u32 v2, v1, v1"),
            "");
}

// In other modes the interpreter runs, until the mode is back.
TEST(Steps, ModeChanges) {
  EXPECT_EQ(compare("v_mul_f32 v1, v2, v4\ns_denorm_mode 0\nv_mul_f32 v3, v2, v4\ns_round_mode 3\nv_add_f32 "
                    "v6, v2, v4\n"
                    "s_denorm_mode 15\ns_round_mode 0\nv_mul_f32 v7, v3, v4\ns_branch next\nnext:\nv_mul_f32 "
                    "v8, v6, v4"),
            "");
}

TEST(Steps, Faults) {
  EXPECT_EQ(compare("v_mov_b32 v1, 1\ns_trap 2\nv_mov_b32 v1, 2"), "");
  EXPECT_EQ(compare("v_mov_b32 v1, 1\ns_sethalt 1\nv_mov_b32 v1, 2"), "");
  EXPECT_EQ(compare("s_mov_b32 s60, 1\ns_mov_b32 s61, 1\ns_setpc_b64 s[60:61]"), "");
  EXPECT_EQ(compare("v_mov_b32 v1, 1\n.long 0xf0000000"), "");
}

// Behind the deallocation of VGPRs other rules hold.
TEST(Steps, WithoutRegisters) {
  EXPECT_EQ(
      compare("v_mov_b32 v1, 1\ns_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\ns_mov_b32 s60, 5\nv_mov_b32 v1, 2"),
      "");
  EXPECT_EQ(compare("v_mov_b32 v1, 1\ns_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\ns_mov_b32 s60, 5"), "");
}

// Jumps into the middle of an instruction.
TEST(Steps, InstructionsThatOverlap) {
  // s_mov_b32 s60, 0xbebd0085 (s_mov_b32 s61, 5); s_cbranch_scc1 -2: into the literal
  EnginePair pair({.seed = 5});
  for (const uint32_t scc : {0u, 1u})
    EXPECT_EQ(pair.run({0xbebc00ff, 0xbebd0085, 0x80808100, 0xbfa2fffd},
                       [&](TestWave& wave) { wave.s(kScalarScc) = scc; }),
              "");
}

TEST(Steps, AreNamedInTheStatistics) {
  const std::vector<uint32_t>& code =
      assembled("s_mov_b32 m0, 3\nv_movrels_b32 v7, v1\nv_movrels_b32 v8, v1", 32);
  const auto entry = reinterpret_cast<uint64_t>(code.data());
  TestWave wave({32, interpreter::best_host_target()});
  Translator engine({{entry, entry + 4 * code.size()}}, 32, wave.ranges(), entry, kMaxVgprs);
  ASSERT_EQ(engine.statistics().interpreted.size(), 1u);
  EXPECT_EQ(engine.statistics().interpreted[0].name, "v_movrels_b32");
  EXPECT_EQ(engine.statistics().interpreted[0].count, 2u);
  EXPECT_EQ(engine.statistics().instructions, 2u);
}

}  // namespace
}  // namespace lockstep::translator
