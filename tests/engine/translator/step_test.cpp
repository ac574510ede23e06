// Instructions that have no translation are executed by the interpreter in the middle of translated code.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "engine/translator/classify.h"
#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

using interpreter::assembled;
using interpreter::TestWave;

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

// M0 leads from what is no SGPR to S0, and a pair to S1, too. Assemblers do not take it: s_movrels_b64 s[4:5]
// and s_movrels_b32 s6 of SCC, VCCZ and EXECZ.
TEST(Steps, SeeWhatIsReadForSourcesOutOfRange) {
  for (const char* const source : {"fd", "fb", "fc"})
    EXPECT_EQ(
        compare("v_cmp_lt_u32 s0, v1, v2\nv_cmp_gt_u32 s1, v3, v2\n.long 0xbe8441" + std::string(source) +
                "\n.long 0xbe8640" + source + "\nv_cmp_lt_u32 s0, v4, v2\nv_cmp_gt_u32 s1, v5, v2"),
        "")
        << source;
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

// An address in EXEC is a mask like any other: what was written before it was under the old one.
TEST(Exec, TakesAddresses) {
  for (const unsigned wave_size : {32u, 64u}) {
    EXPECT_EQ(compare("v_mov_b32 v4, v19\ns_getpc_b64 exec\nv_mov_b32 v5, v4", {.wave_size = wave_size}), "");
    EXPECT_EQ(compare("s_getpc_b64 s[40:41]\nhere:\ns_add_u32 s40, s40, there-here\ns_addc_u32 s41, s41, 0\n"
                      "v_mov_b32 v4, v19\ns_swappc_b64 exec, s[40:41]\nv_mov_b32 v5, v4\nthere:\n"
                      "v_mov_b32 v6, v4\n",
                      {.wave_size = wave_size}),
              "");
  }
}

// Both halves of a packed operand take ABS and NEG where there is no NEG_HI.
TEST(PackedOperands, TakeSignsInBothHalves) {
  for (uint64_t seed = 1; seed <= 4; ++seed)
    EXPECT_EQ(compare("v_dot2_f16_f16 v1, |v2|, |v3|, -|v4|\nv_dot2_f16_f16 v5, -v6, v7, |v8|\n"
                      "v_dot2_f16_f16 v9, -|v10|, v11, -v12\nv_dot2_f16_f16 v13, 1.0, -v14, v15",
                      {.seed = seed}),
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

// Addresses that are sums of SGPRs and VGPRs are taken apart again: only where they still are such sums.
TEST(Gathers, OfSums) {
  const std::string sum = "v_add_co_u32 v12, VCC, s8, v10\nv_add_co_ci_u32 v13, VCC, s9, v11, VCC\n",
                    load = "global_load_b32 v14, v[12:13], off offset:-4\n",
                    store = "global_store_b64 v[12:13], v[16:17], off\n";
  const std::string programs[] = {
      sum + load + store,
      // The addends are others by then.
      sum + "v_mov_b32 v10, 5\ns_mov_b32 s8, 0\n" + load + store,
      // The carry is another.
      "v_add_co_u32 v12, VCC, s8, v10\nv_cmp_eq_u32 VCC, v10, v10\nv_add_co_ci_u32 v13, VCC, s9, v11, VCC\n" +
          load,
      // Lanes that were off have other addresses.
      "s_mov_b32 exec_lo, 0x0ff0f00f\n" + sum + "s_mov_b32 exec_lo, -1\n" + load + store,
      "v_add_co_u32 v12, VCC, s8, v10\ns_mov_b32 exec_lo, 0x0ff0f00f\nv_add_co_ci_u32 v13, VCC, s9, v11, "
      "VCC\n" +
          load + store,
  };
  for (const unsigned wave_size : {32u, 64u}) {
    for (const int first : {0, -8, 100'000}) {
      for (std::string text : programs) {
        for (size_t at; (at = text.find("VCC")) != std::string::npos;)
          text.replace(at, 3, wave_size == 32 ? "vcc_lo" : "vcc");
        EnginePair pair({.wave_size = wave_size, .seed = 5});
        std::vector<uint32_t> code = assembled(text, wave_size);
        code.pop_back();
        EXPECT_EQ(pair.run(code,
                           [&](TestWave& wave) {
                             for (unsigned lane = 0; lane < wave_size; ++lane) {
                               const int offset = 4 * (lane == 7 ? first : static_cast<int>(lane * 37 % 101));
                               wave.v(10, lane) = static_cast<uint32_t>(offset);
                               wave.v(11, lane) = offset < 0 ? ~0u : 0;
                               wave.v(12, lane) = static_cast<uint32_t>(wave.memory_address() + 8 * lane);
                               wave.v(13, lane) = static_cast<uint32_t>(wave.memory_address() >> 32);
                             }
                           }),
                  "")
            << wave_size << " lanes, " << first;
      }
    }
  }
}

std::string difference_of(std::string_view text, const Start& start = {}) {
  EnginePair pair(start);
  std::vector<uint32_t> code = assembled(text, start.wave_size);
  code.pop_back();
  EXPECT_TRUE(pair.runs_through(code));
  std::string difference = pair.run(code);
  const bool has_interpreted = std::ranges::any_of(
      pair.interpreted(), [](const InterpretedInstruction& each) { return !each.name.empty(); });
  EXPECT_FALSE(has_interpreted);
  return difference;
}

// Functions that call functions and turn lanes off, from a loop that is longer than a turn.
TEST(Functions, OfFunctionsInLoops) {
  const auto listing = [](const std::string& between, bool is_wide) {
    const std::string exec = is_wide ? "exec" : "exec_lo", saved = is_wide ? "s[70:71]" : "s70",
                      width = is_wide ? "64" : "32", vcc = is_wide ? "vcc" : "vcc_lo";
    return "s_mov_b32 s60, 40\nv_mov_b32 v1, 1\nv_mov_b32 v2, 3\nloop:\n"
           "s_getpc_b64 s[62:63]\nhere:\ns_add_u32 s62, s62, outer-here\ns_addc_u32 s63, s63, 0\n"
           "s_swappc_b64 s[64:65], s[62:63]\nv_add_nc_u32 v2, v1, v2\n"
           "s_call_b64 s[66:67], inner\nv_xor_b32 v3, v1, v2\n"
           "s_sub_u32 s60, s60, 1\ns_cmp_lg_u32 s60, 0\ns_cbranch_scc1 loop\ns_branch done\n" +
           between +
           "outer:\nv_add_nc_u32 v4, v2, v4\ns_call_b64 s[66:67], inner\nv_add_nc_u32 v1, 5, v1\n"
           "s_setpc_b64 s[64:65]\n"
           "inner:\nv_cmp_gt_u32 " +
           vcc + ", v1, v5\ns_and_saveexec_b" + width + " " + saved + ", " + vcc +
           "\nv_add_nc_u32 v1, v1, v2\nv_mov_b32 v6, v1\ns_mov_b" + width + " " + exec + ", " + saved +
           "\ns_setpc_b64 s[66:67]\ndone:\nv_add_nc_u32 v7, v1, v6";
  };
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x00ff'0f0f'1234'5678}}) {
    EXPECT_EQ(difference_of(listing("", false), {.exec = exec}), "");
    EXPECT_EQ(difference_of(listing("", true), {.wave_size = 64, .exec = exec}), "");
  }
  // The functions are in another piece of the code.
  std::string far;
  for (unsigned i = 0; i < 700; ++i) far += "v_add_nc_u32 v8, " + std::to_string(i % 60) + ", v8\n";
  EXPECT_EQ(difference_of(listing("far:\n" + far, false)), "");
}

// Of so many functions that jumps do not choose between them all, from so many places: nobody jumps for them.
TEST(Functions, MoreThanAJumpChoosesBetween) {
  constexpr unsigned kFunctions = 60;
  std::string text = "s_mov_b32 s60, 3\nv_mov_b32 v1, 1\nv_mov_b32 v2, 3\nloop:\n", functions;
  for (unsigned i = 0; i < kFunctions; ++i) {
    const std::string number = std::to_string(i);
    text += "s_getpc_b64 s[62:63]\nhere" + number + ":\ns_add_u32 s62, s62, f" + number + "-here" + number +
            "\ns_addc_u32 s63, s63, 0\ns_swappc_b64 s[64:65], s[62:63]\nv_add_nc_u32 v2, v1, v2\n";
    functions +=
        "f" + number + ":\nv_add_nc_u32 v1, " + number + ", v2\nv_xor_b32 v3, v1, v3\ns_setpc_b64 s[64:65]\n";
  }
  text += "s_sub_u32 s60, s60, 1\ns_cmp_lg_u32 s60, 0\ns_cbranch_scc1 loop\ns_branch done\n" + functions +
          "done:\nv_add_nc_u32 v7, v1, v3";
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x00ff'0f0f}}) {
    EnginePair pair({.exec = exec});
    std::vector<uint32_t> code = assembled(text, 32);
    code.pop_back();
    EXPECT_EQ(pair.run(code), "");
    EXPECT_EQ(pair.exits(Leave::jump), 0u);
  }
  // What the block before a call has made is its only target.
  const Routine routine = routine_of(text);
  for (const Block& block : routine.blocks)
    if (routine.nodes[block.last - 1].kind == NodeKind::jump &&
        is_function_call(routine.nodes[block.last - 1].instruction)) {
      ASSERT_EQ(block.jumps.size(), 1u);
      EXPECT_EQ(routine.nodes[routine.blocks[block.jumps[0]].first].instruction.row->name,
                std::string_view("v_add_nc_u32"));
    }
}

// The interpreter executes a function that nobody could find, and comes back.
TEST(Functions, OfWhatNobodyKnows) {
  EXPECT_EQ(
      difference_of("s_mov_b32 s60, 3\nloop:\ns_getpc_b64 s[62:63]\nhere:\ns_mov_b32 s64, function-here\n"
                    "s_add_u32 s62, s64, s62\ns_addc_u32 s63, s63, 0\nv_mov_b32 v1, v2\n"
                    "s_swappc_b64 s[66:67], s[62:63]\nv_add_nc_u32 v4, v1, v3\ns_sub_u32 s60, s60, 1\n"
                    "s_cmp_lg_u32 s60, 0\ns_cbranch_scc1 loop\ns_branch done\n"
                    "function:\nv_add_nc_u32 v1, 7, v1\ns_cmp_eq_u32 s60, 2\ns_cbranch_scc1 skip\n"
                    "v_add_nc_u32 v3, v1, v2\nskip:\ns_setpc_b64 s[66:67]\ndone:\nv_add_nc_u32 v5, v4, v1"),
      "");
}

// Some instructions have no denormals whatever MODE says: it does not disable their OMOD either, but IEEE
// does.
TEST(FloatModes, OutputModifiersOfWhatFlushesAlways) {
  for (const uint32_t mode : {0xf0u, 0xfcu, 0x2f0u, 0x0u})
    EXPECT_EQ(
        compare("v_fma_dx9_zero_f32 v1, |v135|, -v191, exec_lo clamp div:2\n"
                "v_fma_dx9_zero_f32 v2, v12, v10, 1.0 mul:2\nv_mul_dx9_zero_f32_e64 v3, 2.0, 1.0 mul:4\n"
                "v_fma_f32 v4, v12, 1.0, 1.0 mul:2\nv_mul_f32_e64 v5, 2.0, 1.0 mul:4",
                {.seed = 3, .mode = mode}),
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
  const std::vector<uint32_t>& code = assembled("s_mov_b32 m0, 3\nds_append v7\nds_append v8", 32);
  const auto entry = reinterpret_cast<uint64_t>(code.data());
  TestWave wave({32, interpreter::best_host_target()});
  Translator engine({{entry, entry + 4 * code.size()}}, 32, wave.ranges(), entry, kMaxVgprs);
  ASSERT_EQ(engine.statistics().interpreted.size(), 1u);
  EXPECT_EQ(engine.statistics().interpreted[0].name, "ds_append");
  EXPECT_EQ(engine.statistics().interpreted[0].count, 2u);
  EXPECT_EQ(engine.statistics().instructions, 2u);
}

std::vector<NodeKind> kinds(std::string_view text, unsigned wave_size = 32) {
  const Routine routine = routine_of(text, wave_size);
  std::vector<NodeKind> result;
  for (const Node& node : routine.nodes) result.push_back(node.kind);
  // What stays does not end a block.
  if (std::find(result.begin(), result.end(), NodeKind::step) == result.end())
    EXPECT_EQ(routine.blocks.size(), 1u) << text;
  return result;
}

// Instructions that move or compute data are called in the middle of translated code; what goes on elsewhere,
// or with other lanes or registers than the code names, is a step.
TEST(Calls, StayInTranslatedCode) {
  for (const char* text : {"ds_append v1", "buffer_load_b32 v[1:2], v2, s[4:7], 0 offen tfe",
                           "buffer_load_b32 v1, v2, ttmp[4:7], 0 offen"})
    EXPECT_EQ(kinds(text)[0], NodeKind::call) << text;
  for (const char* text : {"v_swaprel_b32 v1, v2", "s_setreg_b32 hwreg(HW_REG_MODE), s3", "s_trap 2",
                           "s_rfe_b64 s[4:5]", "ds_add_u32 v1, v2 gds", "s_movrels_b32 s1, s2"})
    EXPECT_EQ(kinds(text)[0], NodeKind::step) << text;
}

// Of numbers alone, so that no NaN sends the wave to the interpreter: v2 to v4 by lanes, v5 with denormals if
// they are kept.
const std::string kNumbers =
    "v_cvt_f32_u32 v3, v6\nv_add_f32 v3, 1.0, v3\nv_rcp_f32 v2, v3\nv_mul_f32 v4, v2, v2\n"
    "v_mul_f32 v5, 0x00800001, v2\n";

// Denormals are kept for a division alone, as compilers do where they are flushed otherwise.
TEST(FloatModes, WritesOfConstantsAreTranslated) {
  const std::string text =
      "s_mov_b32 s60, 5\n" + kNumbers +
      "loop:\nv_mul_f32 v1, v2, v5\ns_denorm_mode 15\nv_div_fmas_f32 v7, v1, v2, v3\n"
      "v_mul_f32 v5, v1, v3\ns_denorm_mode 12\nv_add_f32 v2, v7, v5\n"
      "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3\nv_fma_f32 v4, v4, v3, v2\ns_round_mode 0\n"
      "v_fma_f32 v8, v4, v2, v5\ns_sub_u32 s60, s60, 1\ns_cmp_lg_u32 s60, 0\ns_cbranch_scc1 loop";
  for (const NodeKind kind : kinds(text)) EXPECT_NE(kind, NodeKind::step);
  for (const uint32_t mode : {kDefaultFloatMode, 0x3c0u, 0x1c0u, 0x8000c5u})
    for (const unsigned wave_size : {32u, 64u})
      EXPECT_EQ(compare(text, {.wave_size = wave_size, .seed = 1, .mode = mode}), "") << mode;
}

// What comes from a register is known only when it is executed, and may be another mode than was guessed.
TEST(FloatModes, OthersAreSteps) {
  for (const uint32_t value : {0xf0u, 0xc0u, 0x3u, 0u})
    EXPECT_EQ(compare("s_mov_b32 s60, " + std::to_string(value) + "\n" + kNumbers +
                          "s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s60\nv_mul_f32 v1, v2, v3\n"
                          "v_fma_f32 v4, v4, v3, v1\nv_mul_f32 v5, v5, v3\ns_setreg_imm32_b32 "
                          "hwreg(HW_REG_MODE, 0, 8), 0xf0\nv_fma_f32 v7, v4, v2, v5",
                      {.seed = 4}),
              "")
        << value;
}

// A loop whose rounds differ in their mode, and a join of two ways.
TEST(FloatModes, CodeThatSeveralModesReachIsTheInterpreters) {
  EXPECT_EQ(compare("s_mov_b32 s60, 4\n" + kNumbers +
                    "loop:\nv_mul_f32 v1, v2, v3\nv_fma_f32 v4, v1, v3, v4\nv_mul_f32 v5, v5, v2\n"
                    "s_round_mode 3\nv_fma_f32 v2, v2, v3, v4\ns_denorm_mode 0\ns_sub_u32 s60, s60, 1\n"
                    "s_cmp_lg_u32 s60, 0\ns_cbranch_scc1 loop\ns_setreg_imm32_b32 "
                    "hwreg(HW_REG_MODE, 0, 8), 0xf0\nv_mul_f32 v7, v2, v3"),
            "");
  for (const char* condition : {"s_cmp_eq_u32 0, 0", "s_cmp_eq_u32 0, 1"})
    EXPECT_EQ(compare(kNumbers + condition +
                      "\ns_cbranch_scc1 there\ns_round_mode 1\nthere:\nv_mul_f32 v1, v2, v3\n"
                      "v_fma_f32 v4, v1, v3, v4"),
              "");
}

// A doubtful lane is the interpreter's in the mode that the code has come to, and so is what follows a call.
TEST(FloatModes, TheInterpreterGoesOnInThem) {
  for (const char* between :
       {"v_mov_b32 v2, 0x7f800001", "v_wmma_f32_16x16x16_f16 v[8:15], v[16:23], v[24:31], v[8:15]",
        "v_permlane16_b32 v2, v3, s40, s41"})
    EXPECT_EQ(compare(kNumbers + "s_denorm_mode 0\n" + between +
                      "\nv_mul_f32 v4, v2, v3\nv_mul_f32 v5, v5, v3\ns_barrier\nv_add_f32 v7, v5, v4"),
              "")
        << between;
}

// With values in host registers before and behind, in lanes that are off, too.
TEST(Calls, SeeAndLeaveAllRegisters) {
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x00ff'0f0f}, uint64_t{1}, uint64_t{0}})
    for (const unsigned wave_size : {32u, 64u})
      EXPECT_EQ(compare("s_mov_b32 s60, 9\nloop:\nv_add_nc_u32 v1, v2, v3\nv_dot2_f32_bf16 v4, v1, v2, v3\n"
                        "v_add_nc_u32 v5, v4, v1\nv_movrels_b32 v4, v5\nv_xor_b32 v2, v4, v5\n"
                        "v_and_b32 v6, 0x1ffc, v2\nds_add_rtn_u32 v7, v6, v5\nv_mov_b32 v8, 0\n"
                        "v_add_nc_u32 v3, v7, v3\nglobal_atomic_add_u32 v9, v8, v3, s[0:1] glc\n"
                        "v_add_nc_u32 v3, v9, v3\ns_sub_u32 s60, s60, 1\ns_cmp_lg_u32 s60, 0\n"
                        "s_cbranch_scc1 loop\nv_add_nc_u32 v10, v3, v7",
                        {.wave_size = wave_size, .exec = exec, .seed = 3}),
                "");
}

// EXEC changes around them, with merges that wait.
TEST(Calls, UnderNarrowedMasks) {
  EXPECT_EQ(compare("v_mov_b32 v1, 7\ns_mov_b32 exec_lo, 0xff00\nv_mov_b32 v1, 8\nv_mov_b32 v2, 9\n"
                    "v_dot2_f32_bf16 v2, v0, v1, v1\nv_add_nc_u32 v2, v2, v1\ns_mov_b32 exec_lo, 0xffff\n"
                    "v_add_nc_u32 v3, v1, v2\ns_mov_b32 exec_lo, -1\nv_add_nc_u32 v4, v1, v2"),
            "");
}

// At the instruction, with all that was before in the registers, whether others come behind it or not.
TEST(Calls, FaultsAreTheirs) {
  for (const char* access :
       {"flat_load_b32 v9, v[7:8]", "global_atomic_add_u32 v7, v9, s[60:61]", "scratch_load_b32 v9, v7, off",
        "scratch_store_b64 v7, v[8:9], off", "buffer_load_b32 v9, v7, s[60:63], 0 offen"})
    EXPECT_EQ(compare("v_mov_b32 v7, 0x123\nv_mov_b32 v8, 0x55\ns_mov_b32 s60, 0x1230\ns_mov_b32 s61, 5\n"
                      "s_mov_b32 s62, -1\ns_mov_b32 s63, 0\nv_add_nc_u32 v1, v2, v3\n" +
                      std::string(access) + "\nv_add_nc_u32 v1, v1, v3\nv_add_nc_u32 v4, v9, v1"),
              "")
        << access;
}

// The address is tested before the run, in which lanes that are off come to it: lane 0 is one of them, and
// has another address.
TEST(Runs, UseTheAddressesThatTheyTest) {
  for (const unsigned wave_size : {32u, 64u})
    for (const char* merges : {"v_cmpx_ne_u32_e32 5, v6",
                               "v_mov_b32_dpp v4, v0 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf fi:1"})
      for (const char* access :
           {"ds_load_b32 v1, v0", "ds_load_2addr_b32 v[0:1], v0 offset1:16", "ds_store_b32 v0, v7 offset:4"})
        for (const char* address : {"v_mov_b32 v0, 64", "v_add_nc_u32 v0, 0x100, v6"})
          EXPECT_EQ(
              compare(std::string(address) + "\nv_add_nc_u32 v7, v2, v3\nv_dot2_f32_bf16 v9, v1, v2, v3\n" +
                          merges + "\n" + access,
                      {.wave_size = wave_size, .exec = 0xffff'fff0'ffff'fffe, .seed = 2}),
              "")
              << access;
}

// At all places of a dword, across its end, and out of range.
TEST(Scratch, PartsOfDwords) {
  for (const unsigned wave_size : {32u, 64u})
    for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x00ff'0f0f'f0ff'0001}, uint64_t{0}})
      for (const char* address : {"off, off offset:12", "off, off offset:7", "v9, off", "v9, off offset:1",
                                  "off, s42", "v9, s42", "v8, off"}) {
        std::string loads, stores;
        unsigned next = 16;
        for (const char* form : {"u8", "i8", "u16", "i16", "d16_u8", "d16_hi_i8", "d16_b16", "d16_hi_b16"})
          loads +=
              "scratch_load_" + std::string(form) + " v" + std::to_string(next++) + ", " + address + "\n";
        const std::string at = address, place = at.substr(0, at.find(',')), rest = at.substr(at.find(','));
        for (const char* form : {"b8", "b16", "d16_hi_b8", "d16_hi_b16"})
          stores += "scratch_store_" + std::string(form) + " " + place + ", v" + std::to_string(next++) +
                    rest + "\n";
        const std::string text =
            "s_mov_b32 s42, 5\nv_and_b32 v9, 31, v6\nv_lshrrev_b32 v9, 1, v9\n"
            "v_mov_b32 v8, 0xfe\n" +
            stores + loads + "scratch_store_b32 off, v3, off offset:8\n" + stores + loads;
        for (const Node& node : routine_of(text, wave_size).nodes) EXPECT_NE(node.kind, NodeKind::call);
        EXPECT_EQ(compare(text, {.wave_size = wave_size, .exec = exec, .seed = 5}), "") << address;
      }
}

}  // namespace
}  // namespace lockstep::translator
