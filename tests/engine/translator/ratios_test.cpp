// A quotient of floats that need not be exact is one product only if all its steps are there, and nobody
// looks at what is between.
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

// v2 / v1 to v16, of numbers of moderate size and zeros.
constexpr std::string_view kBegin =
    "v_and_b32 v1, 0xff00ffff, v1\nv_and_b32 v2, 0x8003fff0, v2\nv_cvt_f32_i32 v1, v1\nv_cvt_f32_i32 v2, "
    "v2\n";
// Of all kinds.
constexpr std::string_view kAnything = "v_lshlrev_b32 v5, 23, v3\nv_xor_b32 v1, v5, v1\n";
constexpr std::string_view kRatio =
    "v_frexp_mant_f32 v8, v1\n"
    "v_frexp_exp_i32_f32 v9, v1\n"
    "v_rcp_f32 v8, v8\n"
    "v_frexp_mant_f32 v10, v2\n"
    "v_frexp_exp_i32_f32 v11, v2\n"
    "v_mul_f32 v10, v10, v8\n"
    "v_sub_nc_u32 v9, v11, v9\n"
    "v_ldexp_f32 v16, v10, v9\n";
// 1 / v1 as compilers have it, and -6 / v1.
constexpr std::string_view kReciprocal =
    "v_frexp_mant_f32 v8, v1\n"
    "v_frexp_exp_i32_f32 v9, v1\n"
    "v_rcp_f32 v8, v8\n"
    "v_sub_nc_u32 v9, 0, v9\n"
    "v_ldexp_f32 v16, v8, v9\n";
constexpr std::string_view kOfConstant =
    "v_frexp_mant_f32 v8, v1\n"
    "v_frexp_exp_i32_f32 v9, v1\n"
    "v_rcp_f32 v8, v8\n"
    "v_mul_f32 v8, 0xbf400000, v8\n"
    "v_sub_nc_u32 v9, 3, v9\n"
    "v_ldexp_f32 v16, v8, v9\n";
// -v2 / 255
constexpr std::string_view kByConstant =
    "v_frexp_exp_i32_f32 v9, v2\n"
    "v_frexp_mant_f32 v8, v2\n"
    "v_mul_f32 v8, 0xbf808081, v8\n"
    "v_add_nc_u32 v9, -8, v9\n"
    "v_ldexp_f32 v16, v8, v9\n";
// All that is between is gone then.
constexpr std::string_view kEnd = "v_mov_b32 v8, 0\nv_mov_b32 v9, 0\nv_mov_b32 v10, 0\nv_mov_b32 v11, 0\n";

std::string whole(std::string_view steps) {
  return std::string(kBegin) + std::string(steps) + std::string(kEnd);
}

size_t ratios(const std::string& text, const RegisterSet& live = {}) {
  return quotients_of(text, 32, live).ratios.size();
}

// Also of numbers of all sizes, denormal ones, and of each kind that is none, by each other.
void expect_same_of_all(std::string_view steps) {
  expect_same_runs(whole(steps));
  expect_same_runs(std::string(kAnything) + std::string(steps) + std::string(kEnd));
  static constexpr uint32_t kNumerators[] = {0,          0x80000000, 0x00000123, 0x00800000, 0x7f7fffff,
                                             0x3f800000, 0x7f800000, 0xffc12345, 0x7f812345},
                            kDenominators[] = {0,          0x80000000, 0x80000001, 0x007fffff,
                                               0xff7fffff, 0x7e800000, 0x7e800001, 0x40400000,
                                               0xff800000, 0x7fc54321, 0xff854321};
  const std::string text = std::string(steps) + std::string(kEnd);
  std::vector<uint32_t> code = interpreter::assembled(text, 32);
  code.pop_back();
  EnginePair pair({});
  EXPECT_EQ(pair.run(code), "") << text;
  for (unsigned first = 0; first < std::size(kNumerators) * std::size(kDenominators); first += 32) {
    const auto set_operands = [&](interpreter::TestWave& wave) {
      for (unsigned lane = 0; lane < 32; ++lane) {
        const unsigned place = first + lane;
        wave.v(1, lane) = kDenominators[place % std::size(kDenominators)];
        wave.v(2, lane) = kNumerators[place / std::size(kDenominators) % std::size(kNumerators)];
      }
    };
    EXPECT_EQ(pair.run(code, set_operands), "") << text;
  }
}

TEST(Ratios, AreFound) {
  const std::string other_order = replaced(kRatio, "v10, v10, v8", "v10, v8, v10"),
                    reversed = replaced(kRatio, "v_sub_nc_u32 v9, v11, v9", "v_subrev_nc_u32 v9, v9, v11"),
                    paired = replaced(kRatio, "v_mul_f32 v10, v10, v8",
                                      "v_dual_mul_f32 v10, v10, v8 :: v_dual_mul_f32 v21, v3, v5"),
                    overwritten =
                        replaced(replaced(replaced(replaced(kRatio, "v9, v1", "v1, v1"), "v11, v2", "v2, v2"),
                                          "v9, v11, v9", "v1, v2, v1"),
                                 "v10, v9", "v10, v1");
  for (const std::string& steps :
       {std::string(kRatio), other_order, reversed, paired, overwritten, std::string(kReciprocal),
        std::string(kOfConstant), std::string(kByConstant)}) {
    EXPECT_EQ(ratios(whole(steps)), 1u) << steps;
    expect_same_of_all(steps);
  }
}

TEST(Ratios, InWavesOf64) {
  for (const std::string_view steps : {kRatio, kReciprocal, kOfConstant, kByConstant})
    expect_same_runs(whole(steps), 64);
}

TEST(Ratios, OfNegatedOperands) {
  const std::string of_numerator = replaced(kRatio, "v10, v2", "v10, -v2"),
                    of_denominator = replaced(kRatio, "v8, v1", "v8, -v1"),
                    of_exponents = replaced(replaced(kRatio, "v9, v1", "v9, -v1"), "v11, v2", "v11, -v2"),
                    of_fraction = replaced(kRatio, "v10, v10, v8", "v10, -v10, v8"),
                    of_product = replaced(kRatio, "v16, v10", "v16, -v10"),
                    of_reciprocal = replaced(kReciprocal, "v16, v8", "v16, -v8"),
                    by_constant =
                        replaced(replaced(kByConstant, "v8\nv_add", "-v8\nv_add"), "v8, v2", "v8, -v2");
  for (const std::string& steps :
       {of_numerator, of_denominator, of_exponents, of_fraction, of_product, of_reciprocal, by_constant}) {
    EXPECT_EQ(ratios(whole(steps)), 1u) << steps;
    expect_same_of_all(steps);
  }
}

// Of one denominator, and of one numerator, which are read once.
TEST(Ratios, ShareSteps) {
  const std::string one_denominator =
      std::string(kRatio) +
      "v_frexp_mant_f32 v12, v3\nv_frexp_exp_i32_f32 v13, v3\nv_mul_f32 v12, v12, v8\n"
      "v_sub_nc_u32 v13, v13, v14\nv_ldexp_f32 v17, v12, v13\nv_mov_b32 v12, 0\n"
      "v_mov_b32 v13, 0\nv_mov_b32 v14, 0\n";
  const std::string both =
      replaced(replaced(one_denominator, "v9, v1", "v14, v1"), "v9, v11, v9", "v9, v11, v14");
  EXPECT_EQ(ratios(whole(both)), 2u);
  expect_same_of_all(both);
  // If another instruction wants the denominator's fraction, none of them is.
  const std::string wanted = replaced(both, "v_rcp_f32 v8, v8", "v_mov_b32 v20, v8\nv_rcp_f32 v8, v8");
  EXPECT_EQ(ratios(whole(wanted)), 0u);
  expect_same_of_all(wanted);
  // The second divides what the first one makes.
  const std::string chained =
      std::string(kRatio) + replaced(replaced(kRatio, "v10, v2", "v10, v16"), "v11, v2", "v11, v16");
  EXPECT_EQ(ratios(whole(chained)), 2u);
  expect_same_of_all(chained);
}

// What all lanes have is divided by as one lane.
TEST(Ratios, OfScalars) {
  const std::string denominator = replaced(replaced(kRatio, "v8, v1", "v8, s8"), "v9, v1", "v9, s8"),
                    numerator = replaced(replaced(kRatio, "v10, v2", "v10, s9"), "v11, v2", "v11, s9");
  for (const std::string& steps : {denominator, numerator}) {
    EXPECT_EQ(ratios(whole(steps)), 1u);
    for (const char* value : {"0", "0x40400000", "0x00000100", "0xff800000", "0x7fc12345", "0x7f7fffff"})
      expect_same_runs("s_mov_b32 s8, " + std::string(value) + "\ns_mov_b32 s9, " + std::string(value) +
                       "\n" + whole(steps));
  }
}

TEST(Ratios, AreNoneIfAnythingDiffers) {
  struct Change {
    std::string_view steps, from, to;
  };
  for (const Change& change : std::initializer_list<Change>{
           {kRatio, "v8, v1", "v8, v3"},
           {kRatio, "v8, v1", "v8, |v1|"},
           {kRatio, "v9, v1", "v9, v2"},
           {kRatio, "v10, v2", "v10, v3"},
           {kRatio, "v11, v2", "v11, v1"},
           {kRatio, "v_rcp_f32 v8, v8", "v_rcp_f32 v8, -v8"},
           {kRatio, "v_rcp_f32", "v_rsq_f32"},
           {kRatio, "v10, v10, v8", "v10, v10, -v8"},
           {kRatio, "v10, v10, v8", "v10, v10, v8 mul:2"},
           {kRatio, "v_mul_f32", "v_add_f32"},
           {kRatio, "v9, v11, v9", "v9, v9, v11"},
           {kRatio, "v_sub_nc_u32", "v_add_nc_u32"},
           {kRatio, "v16, v10, v9", "v16, v10, v9 clamp"},
           {kRatio, "v16, v10, v9", "v16, v9, v10"},
           {kReciprocal, "v9, 0, v9", "v9, 0x7fffff00, v9"},
           {kReciprocal, "v9, 0, v9", "v9, 200, v9"},
           {kReciprocal, "v9, 0, v9", "v9, v2, v9"},
           {kOfConstant, "0xbf400000", "0x7fc12345"},
           {kOfConstant, "0xbf400000", "0"},
           {kOfConstant, "0xbf400000", "0x3e000000"},
           {kOfConstant, "0xbf400000", "v2"},
           {kByConstant, "0xbf808081", "v3"},
           {kByConstant, "0xbf808081", "0x7f800000"},
           {kByConstant, "-8, v9", "v3, v9"},
           {kByConstant, "-8, v9", "0x200, v9"},
           {kByConstant, "v9, v2", "v9, v1"},
           {kByConstant, "v_add_nc_u32", "v_sub_nc_u32"},
           // Who reads or changes what is between
           {kByConstant, "v_ldexp", "v_mov_b32 v20, v9\nv_ldexp"},
           {kByConstant, "v_mul_f32", "v_cmpx_lt_u32 v1, v2\nv_mul_f32"},
           {kRatio, "v_ldexp", "v_mov_b32 v20, v10\nv_ldexp"},
           {kRatio, "v_ldexp", "v_mov_b32 v20, v9\nv_ldexp"},
           {kRatio, "v_mul_f32", "v_mov_b32 v20, v11\nv_mul_f32"},
           {kRatio, "v_ldexp", "v_add_nc_u32 v9, 1, v9\nv_ldexp"},
           {kRatio, "v_mul_f32", "v_cmpx_lt_u32 v1, v2\nv_mul_f32"},
           {kRatio, "v_frexp_exp_i32_f32 v11", "v_add_nc_u32 v2, 1, v2\nv_frexp_exp_i32_f32 v11"},
           {kRatio, "v_frexp_exp_i32_f32 v9", "v_add_nc_u32 v1, 1, v1\nv_frexp_exp_i32_f32 v9"}}) {
    const std::string steps = replaced(change.steps, change.from, change.to);
    EXPECT_EQ(ratios(whole(steps)), 0u) << steps;
    expect_same_of_all(steps);
  }
}

TEST(Ratios, KeepWhatIsReadLater) {
  const std::string text = std::string(kBegin) + std::string(kRatio);
  expect_same_runs(text);
  for (const unsigned step : {8u, 9u, 10u, 11u}) EXPECT_EQ(ratios(text, RegisterSet().set(step)), 0u) << step;
  for (const unsigned other : {1u, 2u, 16u}) EXPECT_EQ(ratios(text, RegisterSet().set(other)), 1u) << other;
}

// Operands are as they are where the steps read them, whatever becomes of their registers.
TEST(Ratios, WhoseOperandsAreOverwritten) {
  const std::string steps = replaced(kRatio, "v_mul_f32", "v_mov_b32 v1, v3\nv_mov_b32 v2, v3\nv_mul_f32");
  EXPECT_EQ(ratios(whole(steps)), 1u);
  expect_same_of_all(steps);
}

// Lanes that are off keep what they had, and what is stored for them; zeros that they divide by are nobody's.
TEST(Ratios, UnderPartOfExec) {
  for (const std::string_view steps : {kRatio, kReciprocal, kOfConstant, kByConstant})
    for (const char* condition : {"v_cmp_lt_u32 s31, v20, v21\n", "v_cmp_lt_f32 s31, 0, v1\n"})
      expect_same_runs(
          "v_mov_b32 v16, v3\nv_mov_b32 v9, v3\ns_mov_b32 s30, exec_lo\nv_and_b32 v1, v20, v1\n" +
          std::string(condition) + "s_and_b32 exec_lo, s31, exec_lo\ns_cbranch_execz done\n" +
          std::string(steps) + std::string(kEnd) +
          "done:\ns_mov_b32 exec_lo, s30\nv_add_nc_u32 v14, v16, v9\n");
}

// Other rounding, other denormals: the steps are what they are.
TEST(Ratios, InOtherModes) {
  for (const uint32_t mode :
       {kDefaultFloatMode & ~0x30u, kDefaultFloatMode | 3u, kDefaultFloatMode & ~0x200u}) {
    const std::string text = std::string(kAnything) + std::string(kRatio) + std::string(kEnd);
    EXPECT_EQ(compare(text, {.mode = mode}), "") << mode;
  }
  EXPECT_EQ(compare(std::string(kRatio) + std::string(kEnd), {.selects_nans = true}), "");
}

}  // namespace
}  // namespace lockstep::translator
