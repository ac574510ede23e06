// Sources that all lanes have: one lane is computed, and all chunks of the wave get that.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

using interpreter::assembled;
using interpreter::TestWave;

// Numbers of s[8:9] that are tables' borders, no numbers, or what hosts round otherwise.
constexpr uint32_t kNumbers[] = {0,          1,          0x007fffff, 0x00800000, 0x3f7fffff, 0x3f800000,
                                 0x3f800001, 0x40490fdb, 0x4b800001, 0x4f7ffffe, 0x7f7fffff, 0x7f800000,
                                 0x7f800001, 0x7fc00000, 0x7ff00001, 0x80000000, 0x80000001, 0xbf800000,
                                 0xc2f0e148, 0xff800000, 0xffc00123, 0x3c003c01, 0x7c017e00, 0xfc000001,
                                 0xffffffff, 0x12345678};

const std::string kFunctions =
    "v_rcp_f32 v20, s8\nv_rcp_iflag_f32 v21, s8\nv_rsq_f32 v22, s8\nv_sqrt_f32 v23, s8\nv_exp_f32 v24, s8\n"
    "v_log_f32 v25, s8\nv_sin_f32 v26, s8\nv_cos_f32 v27, s8\nv_rcp_f16 v28, s8\nv_rsq_f16 v29, s8\n"
    "v_sqrt_f16 v30, s8\nv_exp_f16 v31, s8\nv_log_f16 v32, s8\nv_sin_f16 v33, s8\nv_cos_f16 v34, s8\n"
    "v_rcp_f64 v[36:37], s[8:9]\nv_rsq_f64 v[38:39], s[8:9]\nv_sqrt_f64 v[40:41], s[8:9]\n"
    "v_cvt_f32_u32 v42, s8\nv_cvt_f32_i32 v43, s8\nv_frexp_mant_f32 v44, s8\nv_frexp_exp_i32_f32 v45, s8\n"
    "v_mul_hi_u32 v46, s8, 0x12345679\n";
// What goes on with these, and what does not.
const std::string kChains =
    "v_rcp_f32 v50, -|s8|\nv_sqrt_f32 v51, |s8| clamp\nv_rsq_f32 v52, s8 mul:4\nv_mul_f32 v53, 0x4f7ffffe, "
    "v50\n"
    "v_cvt_u32_f32 v54, v53\nv_mul_lo_u32 v55, v54, s9\nv_mul_hi_u32 v56, v54, v55\nv_add_nc_u32 v57, v54, "
    "v56\n"
    "v_add_nc_u32 v58, v57, v0\nv_fma_f32 v59, v50, v51, s9\nv_fmac_f32 v59, v50, v52\n"
    "v_fmac_f32 v60, v50, v52\nv_cvt_f16_f32 v61, v50\nv_rcp_f16 v61, v61\nv_cmp_lt_f32 vcc_lo, v50, "
    "v51\n"
    "v_cndmask_b32 v62, v50, v51, vcc_lo\nv_med3_f32 v63, v50, v51, v52\nv_rcp_f32 v50, v50\n";

std::vector<uint32_t> code_of(std::string text, unsigned wave_size) {
  if (wave_size == 64)
    for (size_t at; (at = text.find("vcc_lo")) != std::string::npos;) text.replace(at, 6, "vcc");
  std::vector<uint32_t> code = assembled(text, wave_size);
  code.pop_back();
  return code;
}

void expect_same(const std::string& text, const Start& start) {
  EnginePair pair(start);
  const std::vector<uint32_t> code = code_of(text, start.wave_size);
  for (const uint32_t number : kNumbers) {
    const auto prepare = [&](TestWave& wave) {
      wave.s(8) = number;
      wave.s(9) = number ^ 0x7fe00000;
    };
    EXPECT_EQ(pair.run(code, prepare), "") << std::hex << number;
  }
}

TEST(OneLane, FunctionsOfWhatAllLanesHave) {
  for (const unsigned wave_size : {32u, 64u})
    for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x8000'0000'0f0f'3300}, uint64_t{0}})
      for (const bool selects_nans : {false, true}) {
        const Start start{.wave_size = wave_size, .exec = exec, .selects_nans = selects_nans};
        expect_same(kFunctions, start);
        expect_same(kChains, start);
      }
}

TEST(OneLane, InOtherFloatModes) {
  for (const uint32_t mode : {0x1f0u, 0x3c0u, 0x3f5u, 0x8003f0u}) {
    expect_same(kFunctions, {.mode = mode});
    expect_same(kChains, {.mode = mode});
  }
}

// Halves of a pair each for themselves, and registers that change between two of the same instruction.
TEST(OneLane, BetweenChangesOfItsSources) {
  expect_same(
      "v_rcp_f32 v20, s8\nv_dual_mul_f32 v21, 2.0, v20 :: v_dual_mul_f32 v22, v20, v1\n"
      "s_mov_b32 s8, s9\nv_rcp_f32 v23, s8\nv_dual_mul_f32 v24, v23, v20 :: v_dual_mul_f32 v25, v20, v21\n"
      "s_add_u32 s8, s8, 1\nv_rcp_f32 v20, s8\nv_mov_b32 v26, v20\n",
      {});
  // Around a loop the same instruction has other sources each time.
  expect_same(
      "s_mov_b32 s20, 3\nv_mov_b32 v21, 0\nagain:\nv_cvt_f32_u32 v20, s20\nv_rcp_f32 v20, v20\n"
      "v_add_f32 v21, v20, v21\ns_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 again\n",
      {});
}

// Numbers that hosts compute alike do not send the wave to the interpreter; those that are in doubt do,
// whatever lanes are on.
TEST(OneLane, DoubtIsThatOfAllLanes) {
  const std::vector<uint32_t> code =
      code_of("v_rcp_f32 v20, s8\nv_mul_f32 v21, v20, s9\nv_add_f32 v22, v21, v1\n", 32);
  const auto doubts = [&](uint32_t number, uint64_t exec) {
    EnginePair pair({.exec = exec});
    EXPECT_EQ(pair.run(code,
                       [&](TestWave& wave) {
                         wave.s(8) = number;
                         wave.s(9) = 0x3f800000;
                         wave.fill(1, [](unsigned) { return 0x3f000000u; });
                       }),
              "");
    return pair.exits(Leave::doubt);
  };
  EXPECT_EQ(doubts(0x40490fdb, ~uint64_t{0}), 0u);
  EXPECT_GT(doubts(0x7fc00123, ~uint64_t{0}), 0u);
  EXPECT_GT(doubts(0x7fc00123, 0x8000'0000), 0u);
  EXPECT_EQ(doubts(0x7fc00123, 0), 0u);
}

}  // namespace
}  // namespace lockstep::translator
