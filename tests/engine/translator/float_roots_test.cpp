// A root of a float is the host's only if all steps are there that choose among V_SQRT_F32's result and its
// neighbours, and nobody looks at what is between.
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "engine/translator/quotients.h"
#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

// Of v1 to v16, which compilers have scaled before.
constexpr std::string_view kBegin = "v_and_b32 v1, 0x7fffffff, v1\nv_cvt_f32_u32 v1, v1\n";
constexpr std::string_view kRoot =
    "v_sqrt_f32 v8, v1\n"
    "v_add_nc_u32 v9, -1, v8\n"
    "v_add_nc_u32 v10, 1, v8\n"
    "v_fma_f32 v11, -v9, v8, v1\n"
    "v_fma_f32 v12, -v10, v8, v1\n"
    "v_cmp_ge_f32 s4, 0, v11\n"
    "v_cndmask_b32 v8, v8, v9, s4\n"
    "v_cmp_lt_f32 s4, 0, v12\n"
    "v_cndmask_b32 v16, v8, v10, s4\n";
// All that is between is gone then.
constexpr std::string_view kEnd =
    "v_mov_b32 v8, 0\nv_mov_b32 v9, 0\nv_mov_b32 v10, 0\nv_mov_b32 v11, 0\nv_mov_b32 v12, 0\ns_mov_b32 s4, "
    "0\n";

std::string whole(std::string_view steps) {
  return std::string(kBegin) + std::string(steps) + std::string(kEnd);
}

size_t roots(const std::string& text, const RegisterSet& live = {}, unsigned wave_size = 32) {
  return quotients_of(text, wave_size, live).float_roots.size();
}

// Also of anything, and of each kind of number beside ordinary ones.
void expect_same_of_all(const std::string& steps) {
  expect_same_runs(whole(steps));
  const std::string text = steps + std::string(kEnd);
  expect_same_runs(text);
  static constexpr uint32_t kOperands[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff,
                                           0x00800000, 0x0f7fffff, 0x0f800000, 0x8f7fffff, 0x3f800000,
                                           0x40490fdb, 0x7f7fffff, 0x7f800000, 0xff800000, 0xbf800000,
                                           0x7fc12345, 0xff812345};
  std::vector<uint32_t> code = interpreter::assembled(text, 32);
  code.pop_back();
  EnginePair pair({});
  for (unsigned turn = 0; turn < std::size(kOperands); ++turn) {
    const auto set_operands = [&](interpreter::TestWave& wave) {
      for (unsigned lane = 0; lane < 32; ++lane)
        wave.v(1, lane) = lane % 3 == 0 ? kOperands[(turn + lane / 3) % std::size(kOperands)]
                                        : 0x3f800000 + 0x12345 * (turn * 32 + lane);
    };
    EXPECT_EQ(pair.run(code, set_operands), "") << text;
  }
}

TEST(FloatRoots, AreFound) {
  const std::string other_products =
      replaced(replaced(kRoot, "-v9, v8, v1", "v8, -v9, v1"), "-v10, v8, v1", "-v8, v10, v1");
  const std::string other_comparisons =
      replaced(replaced(kRoot, "v_cmp_ge_f32 s4, 0, v11", "v_cmp_le_f32 s4, v11, 0"),
               "v_cmp_lt_f32 s4, 0, v12", "v_cmp_gt_f32 s4, v12, 0");
  const std::string over_the_operand = replaced(
      replaced(kRoot, "v_fma_f32 v12, -v10, v8, v1", "v_fmac_f32 v1, -v10, v8"), "s4, 0, v12", "s4, 0, v1");
  const std::string in_vcc = replaced(
      replaced(
          replaced(replaced(kRoot, "lt_f32 s4", "lt_f32 vcc_lo"), "v16, v8, v10, s4", "v16, v8, v10, vcc_lo"),
          "v_add_nc_u32 v10, 1, v8", "v_dual_mov_b32 v21, v3 :: v_dual_add_nc_u32 v10, 1, v8"),
      "v_add_nc_u32 v9, -1, v8", "v_add_nc_u32 v9, v8, -1");
  for (const std::string& steps :
       {std::string(kRoot), other_products, other_comparisons, over_the_operand, in_vcc}) {
    EXPECT_EQ(roots(whole(steps)), 1u) << steps;
    expect_same_of_all(steps);
  }
}

TEST(FloatRoots, InWavesOf64) {
  const std::string steps = replaced(
      replaced(replaced(replaced(kRoot, "s4, 0, v11", "s[4:5], 0, v11"), "v8, v9, s4", "v8, v9, s[4:5]"),
               "s4, 0, v12", "s[4:5], 0, v12"),
      "v10, s4", "v10, s[4:5]");
  const std::string text = std::string(kBegin) + steps + "s_mov_b32 s5, 0\n" + std::string(kEnd);
  EXPECT_EQ(roots(text, {}, 64), 1u);
  expect_same_runs(text, 64);
}

TEST(FloatRoots, OfAScalar) {
  const std::string steps = replaced(
      replaced(replaced(kRoot, "v_sqrt_f32 v8, v1", "v_sqrt_f32 v8, s6"), "-v9, v8, v1", "-v9, v8, s6"),
      "-v10, v8, v1", "-v10, v8, s6");
  EXPECT_EQ(roots(whole(steps)), 1u);
  expect_same_runs(whole(steps));
}

TEST(FloatRoots, TwoAtATime) {
  const std::string other = replaced(
      replaced(replaced(replaced(replaced(replaced(replaced(kRoot, "v8, v1\nv_add", "v18, v2\nv_add"),
                                                   "v9, -1, v8", "v19, -1, v18"),
                                          "v10, 1, v8", "v20, 1, v18"),
                                 "v11, -v9, v8, v1", "v21, -v19, v18, v2"),
                        "v12, -v10, v8, v1", "v22, -v20, v18, v2"),
               "s4, 0, v11\nv_cndmask_b32 v8, v8, v9", "s4, 0, v21\nv_cndmask_b32 v18, v18, v19"),
      "s4, 0, v12\nv_cndmask_b32 v16, v8, v10", "s4, 0, v22\nv_cndmask_b32 v17, v18, v20");
  const std::string text = "v_cvt_f32_u32 v2, v2\n" + whole(std::string(kRoot) + other);
  EXPECT_EQ(roots(text), 2u) << text;
  expect_same_runs(text);
}

TEST(FloatRoots, NearMisses) {
  struct Change {
    std::string_view from, to;
  };
  for (const Change& change : {
           Change{"v_sqrt_f32 v8", "v_rsq_f32 v8"},
           Change{"v9, -1, v8", "v9, -2, v8"},
           Change{"v10, 1, v8", "v10, -1, v8"},
           Change{"v10, 1, v8", "v10, 1, v9"},
           Change{"-v9, v8, v1", "v9, v8, v1"},
           Change{"-v9, v8, v1", "-v9, v9, v1"},
           Change{"-v10, v8, v1", "-v10, -v8, v1"},
           Change{"-v10, v8, v1", "-v10, v8, v2"},
           Change{"-v10, v8, v1", "-v10, v8, -v1"},
           Change{"v_fma_f32 v12, -v10, v8, v1", "v_fma_f32 v12, -v10, v8, v1 mul:2"},
           Change{"cmp_ge_f32", "cmp_gt_f32"},
           Change{"cmp_lt_f32", "cmp_le_f32"},
           Change{"cmp_lt_f32", "cmp_nge_f32"},
           Change{"s4, 0, v12", "s4, 1.0, v12"},
           Change{"s4, 0, v12", "s5, 0, v12"},
           Change{"v8, v8, v9, s4", "v8, v9, v8, s4"},
           Change{"v16, v8, v10", "v16, v10, v8"},
           Change{"v16, v8, v10", "v16, -v8, v10"},
           Change{"v_sqrt_f32 v8, v1", "v_sqrt_f32 v8, -v1"},
           Change{"v_sqrt_f32 v8, v1", "v_sqrt_f32 v8, |v1|"},
           Change{"v_cmp_lt", "s_mov_b32 exec_lo, 0xf0f\nv_cmp_lt"},
           Change{"v_fma_f32 v11", "v_add_f32 v1, 1.0, v1\nv_fma_f32 v11"},
       }) {
    const std::string steps = replaced(kRoot, change.from, change.to);
    EXPECT_EQ(roots(whole(steps)), 0u) << steps;
    expect_same_of_all(steps);
  }
}

TEST(FloatRoots, OfNegatedOperandsAreNone) {
  const std::string steps = replaced(
      replaced(replaced(kRoot, "v_sqrt_f32 v8, v1", "v_sqrt_f32 v8, -v1"), "-v9, v8, v1", "-v9, v8, -v1"),
      "-v10, v8, v1", "-v10, v8, -v1");
  EXPECT_EQ(roots(whole(steps)), 0u);
  expect_same_of_all(steps);
}

TEST(FloatRoots, StepsThatAreNeeded) {
  for (const unsigned number : {8u, 9u, 10u, 11u, 12u}) {
    const std::string read = "v_mov_b32 v30, v" + std::to_string(number) + "\n";
    const std::string text = std::string(kBegin) + std::string(kRoot) + read + std::string(kEnd);
    EXPECT_EQ(roots(text), 0u) << text;
    expect_same_runs(text);
    RegisterSet live;
    live.set(number);
    EXPECT_EQ(roots(std::string(kBegin) + std::string(kRoot), live), 0u) << number;
  }
  const std::string of_mask =
      std::string(kBegin) + std::string(kRoot) + "v_cndmask_b32 v30, v3, v4, s4\n" + std::string(kEnd);
  EXPECT_EQ(roots(of_mask), 0u);
  expect_same_runs(of_mask);
}

}  // namespace
}  // namespace lockstep::translator
