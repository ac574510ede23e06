// Long runs of vector instructions in straight code of several pieces: a loop over the chunks of the wave
// where hosts have eight lanes in a register. What counts lanes or rows through the wave is none.
#include <gtest/gtest.h>

#include <string>

#include "engine/translator/code_generator.h"
#include "engine/translator/liveness.h"
#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

// A dozen instructions with the text among them. They cast no doubt, for which the interpreter would do all
// of it again.
std::string among_others(const std::string& text) {
  const std::string others =
      "v_add_nc_u32 v10, v11, v12\nv_xor_b32 v13, v10, v14\nv_lshlrev_b64 v[16:17], v13, v[18:19]\n"
      "v_mul_lo_u32 v24, v13, v25\n";
  return others + text + "\n" + others + others;
}

class RolledRuns : public testing::TestWithParam<unsigned> {
 protected:
  // As long code, from full and other EXECs.
  void expect_same(const std::string& text) {
    SCOPED_TRACE(text);
    std::vector<uint32_t> code = interpreter::assembled(text + what_makes_it_long(), GetParam());
    code.pop_back();
    for (const uint64_t exec :
         {~uint64_t{0}, uint64_t{0xff0f'3c01'00ff'8f35}, uint64_t{0x8000'0000}, uint64_t{0}}) {
      EnginePair pair({GetParam(), 256, exec, 9});
      EXPECT_EQ(pair.run(code), "") << std::hex << exec;
      EXPECT_EQ(pair.exits(Leave::doubt), 0u);
    }
  }

  std::string vcc() const { return GetParam() == 32 ? "vcc_lo" : "vcc"; }
};

TEST_P(RolledRuns, LanesOfEachChunk) {
  for (const std::string& text :
       {std::string("v_cmp_gt_u32 ") + vcc() + ", v30, v31\nv_cndmask_b32 v32, v33, v34, " + vcc(),
        std::string("v_add_co_u32 v30, ") + vcc() + ", v31, v32\nv_add_co_ci_u32 v33, " + vcc() +
            ", v34, v35, " + vcc(),
        std::string("v_cmpx_gt_u32 v30, v31\nv_add_nc_u32 v32, v32, v33"),
        std::string("v_cndmask_b32 v32, v33, v34, ") + vcc(),
        std::string(
            "s_add_u32 s8, s8, s9\nv_add_nc_u32 v30, s8, v31\ns_mov_b32 s9, 7\nv_xor_b32 v32, s9, v30")})
    expect_same(among_others(text));
}

TEST_P(RolledRuns, WhatCountsLanesOrRows) {
  for (const std::string& text :
       {std::string("v_mbcnt_lo_u32_b32 v30, v31, v32"), std::string("v_mbcnt_hi_u32_b32 v30, v31, v32"),
        std::string("v_mov_b32_dpp v30, v31 quad_perm:[1,0,3,2] row_mask:0x1 bank_mask:0xf"),
        std::string("v_mov_b32_dpp v30, v31 row_ror:3 row_mask:0x2 bank_mask:0x7 bound_ctrl:1")})
    expect_same(among_others(text));
}

// Lanes that are off keep what they have, and other lanes read it.
TEST_P(RolledRuns, LanesThatAreOff) {
  const std::string exec = GetParam() == 32 ? "exec_lo" : "exec", type = GetParam() == 32 ? "b32" : "b64",
                    saved = GetParam() == 32 ? "s30" : "s[30:31]";
  const std::string off = "s_mov_" + type + " " + saved + ", " + exec + "\ns_lshr_" + type + " " + exec +
                          ", " + exec + ", 3\n",
                    on = "s_mov_" + type + " " + exec + ", " + saved +
                         "\nv_xor_b32 v33, v30, v31\nv_readlane_b32 s6, v10, 31\n";
  expect_same("v_mov_b32 v30, v31\n" + off + among_others("v_add_nc_u32 v30, v30, v32") + on);
  // What the run before has written for some lanes, others of which turn off in this one.
  expect_same(off + "v_mov_b32 v30, v31\nv_readlane_b32 s6, v40, 3\n" +
              among_others("v_cmpx_gt_u32 v34, v35\nv_add_nc_u32 v30, v30, v32") + on);
}

// Doubt of any chunk sends the wave back to where the run began.
TEST_P(RolledRuns, DoubtOfAnyChunk) {
  std::vector<uint32_t> code = interpreter::assembled(
      among_others("v_add_f32 v30, v31, v32\nv_mul_f32 v31, v30, v33") + what_makes_it_long(), GetParam());
  code.pop_back();
  for (unsigned lane = 0; lane < GetParam(); lane += 15) {
    EnginePair pair({GetParam(), 256, ~uint64_t{0}, 9});
    EXPECT_EQ(pair.run(code,
                       [&](interpreter::TestWave& wave) {
                         for (unsigned n : {31u, 32u, 33u})
                           for (unsigned i = 0; i < GetParam(); ++i) wave.v(n, i) = 0x3f800000 + i;
                         wave.v(31, lane) = 0x7fc01234;
                         wave.v(32, lane) = 0x7fc04321;
                       }),
              "")
        << lane;
    EXPECT_GT(pair.exits(Leave::doubt), 0u) << lane;
  }
}

size_t first_piece_bytes(const std::string& text, unsigned wave_size, const char* processor) {
  const Routine routine = routine_of(text, wave_size);
  return generate(routine, analyse(routine), 0, 0, processor).code_bytes;
}

TEST_P(RolledRuns, AreShort) {
  const std::string run = repeated(
      "v_fma_f64 v[16:17], v[18:19], v[20:21], v[16:17]\nv_fma_f64 v[18:19], v[16:17], v[20:21], "
      "v[18:19]\nv_xor_b32 v24, v24, v16\nv_mul_lo_u32 v25, v24, v18\n",
      24);
  const size_t alone = first_piece_bytes(run + "s_endpgm", GetParam(), "x86-64-v3"),
               in_long_code =
                   first_piece_bytes(run + what_makes_it_long() + "s_endpgm", GetParam(), "x86-64-v3");
  EXPECT_LT(in_long_code * (GetParam() == 32 ? 4 : 2), alone * 3) << in_long_code << " for " << alone;
}

INSTANTIATE_TEST_SUITE_P(Wave, RolledRuns, testing::Values(32u, 64u), testing::PrintToStringParamName());

}  // namespace
}  // namespace lockstep::translator
