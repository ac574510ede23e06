// The steps of a quotient are one division only if they are all there, in this order of things, and nobody
// looks at what is between.
#include "engine/translator/quotients.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

// Operands that are numbers of moderate size, and zeros.
constexpr std::string_view kBegin =
    "v_and_b32 v1, 0xff00ffff, v1\nv_and_b32 v2, 0x8003fff0, v2\n"
    "v_cvt_f64_i32 v[4:5], v1\nv_cvt_f64_i32 v[6:7], v2\nv_cvt_f32_i32 v1, v1\nv_cvt_f32_i32 v2, v2\n";
constexpr std::string_view kDouble =
    "v_div_scale_f64 v[8:9], null, v[4:5], v[4:5], v[6:7]\n"
    "v_rcp_f64 v[10:11], v[8:9]\n"
    "v_fma_f64 v[12:13], -v[8:9], v[10:11], 1.0\n"
    "v_fma_f64 v[10:11], v[10:11], v[12:13], v[10:11]\n"
    "v_fma_f64 v[12:13], -v[8:9], v[10:11], 1.0\n"
    "v_fma_f64 v[10:11], v[10:11], v[12:13], v[10:11]\n"
    "v_div_scale_f64 v[14:15], vcc_lo, v[6:7], v[4:5], v[6:7]\n"
    "v_mul_f64 v[12:13], v[14:15], v[10:11]\n"
    "v_fma_f64 v[8:9], -v[8:9], v[12:13], v[14:15]\n"
    "v_div_fmas_f64 v[8:9], v[8:9], v[10:11], v[12:13]\n"
    "v_div_fixup_f64 v[16:17], v[8:9], v[4:5], v[6:7]\n";
constexpr std::string_view kFloat =
    "v_div_scale_f32 v8, null, v1, v1, v2\n"
    "v_rcp_f32 v9, v8\n"
    "v_fma_f32 v10, -v8, v9, 1.0\n"
    "v_fmac_f32 v9, v10, v9\n"
    "v_div_scale_f32 v10, vcc_lo, v2, v1, v2\n"
    "v_mul_f32 v11, v10, v9\n"
    "v_fma_f32 v12, -v8, v11, v10\n"
    "v_fmac_f32 v11, v12, v9\n"
    "v_fma_f32 v8, -v8, v11, v10\n"
    "v_div_fmas_f32 v8, v8, v9, v11\n"
    "v_div_fixup_f32 v16, v8, v1, v2\n";
constexpr std::string_view kRoot =
    "v_and_b32 v7, 0x7fffffff, v7\n"
    "v_rsq_f64 v[8:9], v[6:7]\n"
    "v_mul_f64 v[10:11], v[6:7], v[8:9]\n"
    "v_mul_f64 v[8:9], v[8:9], 0.5\n"
    "v_fma_f64 v[12:13], -v[8:9], v[10:11], 0.5\n"
    "v_fma_f64 v[10:11], v[10:11], v[12:13], v[10:11]\n"
    "v_fma_f64 v[8:9], v[8:9], v[12:13], v[8:9]\n"
    "v_fma_f64 v[12:13], -v[10:11], v[10:11], v[6:7]\n"
    "v_fma_f64 v[10:11], v[12:13], v[8:9], v[10:11]\n"
    "v_fma_f64 v[12:13], -v[10:11], v[10:11], v[6:7]\n"
    "v_fma_f64 v[16:17], v[12:13], v[8:9], v[10:11]\n";
// All that is between is gone then.
constexpr std::string_view kEnd =
    "v_mov_b32 v8, 0\nv_mov_b32 v9, 0\nv_mov_b32 v10, 0\nv_mov_b32 v11, 0\nv_mov_b32 v12, 0\nv_mov_b32 v13, "
    "0\n"
    "v_mov_b32 v14, 0\nv_mov_b32 v15, 0\ns_mov_b32 vcc_lo, 0\ns_mov_b32 s20, 0\n";

std::string whole(std::string_view steps) {
  return std::string(kBegin) + std::string(steps) + std::string(kEnd);
}

size_t divisions(const std::string& text) {
  return quotients_of(text).divisions.size();
}
size_t integer_quotients(const std::string& text) {
  return quotients_of(text).earlier_results.size();
}
size_t roots(const std::string& text) {
  return quotients_of(text).roots.size();
}

void expect_same(const std::string& text) {
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x0f0f'33ff}}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      EnginePair pair({.exec = exec, .seed = seed});
      std::vector<uint32_t> code = interpreter::assembled(text, 32);
      code.pop_back();
      EXPECT_EQ(pair.run(code), "") << text;
    }
  }
}

TEST(Quotients, AreFound) {
  for (const std::string_view steps : {kDouble, kFloat}) {
    EXPECT_EQ(divisions(whole(steps)), 1u);
    expect_same(whole(steps));
  }
  const std::string moved = replaced(replaced(kDouble, "vcc_lo, v[6:7]", "s20, v[6:7]"), "v_div_fmas",
                                     "s_mov_b32 vcc_lo, s20\nv_div_fmas");
  const std::string other_order = replaced(kFloat, "v_mul_f32 v11, v10, v9", "v_mul_f32 v11, v9, v10");
  const std::string constant =
      replaced(replaced(replaced(replaced(kDouble, "v[4:5], v[6:7]\nv_rcp", "v[4:5], 1.0\nv_rcp"),
                                 "vcc_lo, v[6:7], v[4:5], v[6:7]", "vcc_lo, 1.0, v[4:5], 1.0"),
                        "v[8:9], v[4:5], v[6:7]", "v[8:9], v[4:5], 1.0"),
               "v_mul_f64 v[12:13], v[14:15], v[10:11]", "v_mul_f64 v[12:13], v[10:11], v[14:15]");
  // Both halves of a pair that is none of its steps stay, and the half that is none.
  const std::string paired =
      replaced(kFloat, "v_fmac_f32 v9, v10, v9", "v_dual_fmac_f32 v9, v10, v9 :: v_dual_mul_f32 v20, v3, v0");
  for (const std::string& steps : {moved, other_order, constant, paired}) {
    EXPECT_EQ(divisions(whole(steps)), 1u) << steps;
    expect_same(whole(steps));
  }
}

// Compilers that do not optimise have the 1 of Newton's steps in SGPRs.
TEST(Quotients, WhoseOneIsInScalarRegisters) {
  const auto of_float = [](const std::string& one) {
    return replaced(replaced(kFloat, "v_fma_f32 v10, -v8, v9, 1.0", one + "v_fma_f32 v10, -v8, v9, s22"),
                    "v8, null, v1", "v8, s22, v1");
  };
  const auto of_double = [](const std::string& one) {
    return one + replaced(replaced(kDouble, "v[10:11], 1.0", "v[10:11], s[22:23]"), "v[10:11], 1.0",
                          "v[10:11], s[22:23]");
  };
  for (const std::string& steps :
       {of_float("s_mov_b32 s22, 1.0\n"), of_float("s_mov_b64 s[22:23], 0x3f800000\n"),
        of_float("s_mov_b64 s[20:21], 0\ns_mov_b64 s[22:23], 0x3f800000\n"),
        of_double("s_mov_b64 s[22:23], 1.0\n"), of_double("s_mov_b32 s22, 0\ns_mov_b32 s23, 0x3ff00000\n")}) {
    EXPECT_EQ(divisions(whole(steps)), 1u) << steps;
    expect_same(whole(steps));
  }
  // The number stands where a mask was that nobody reads: the run does not end there. Quotients of zeros
  // leave for no doubt if they are found.
  EnginePair pair({});
  std::vector<uint32_t> code = interpreter::assembled(whole(of_float("s_mov_b32 s22, 1.0\n")), 32);
  code.pop_back();
  EXPECT_EQ(pair.run(code, [](interpreter::TestWave& wave) { wave.fill(2, [](unsigned) { return 0u; }); }),
            "");
  EXPECT_EQ(pair.exits(Leave::doubt), 0u);
  for (const std::string& steps :
       {of_float("s_mov_b32 s22, 2.0\n"), of_float("s_mov_b32 s22, s24\n"), of_float("s_not_b32 s22, 1.0\n"),
        of_float("s_mov_b32 s22, 1.0\ns_add_u32 s22, s22, 1\n"), of_double("s_mov_b64 s[22:23], 0.5\n"),
        of_double("s_mov_b32 s22, 1\ns_mov_b32 s23, 0x3ff00000\n"),
        of_double("s_mov_b32 s22, 0\ns_mov_b32 s23, 0\n"),
        of_double("s_mov_b64 s[22:23], 1.0\ns_mov_b32 s23, 0\n"),
        replaced(of_float("s_mov_b32 s22, 1.0\n"), "v9, s22", "v9, -s22")}) {
    EXPECT_EQ(divisions(whole(steps)), 0u) << steps;
    expect_same(whole(steps));
  }
}

// A number that scalar instructions have put where the scaling's mask goes is not the mask of any
// instruction: with two quotients the compiler has that of the second there.
TEST(Quotients, WhoseMaskStandsWhereANumberWas) {
  const std::string number = "s_sub_u32 s20, 77, s22\nv_add_nc_u32 v20, s20, v3\n";
  const std::string float_q = replaced(replaced(kFloat, "vcc_lo, v2, v1", "s20, v2, v1"), "v_div_fmas",
                                       "s_mov_b32 vcc_lo, s20\nv_div_fmas");
  const std::string double_q = replaced(replaced(kDouble, "vcc_lo, v[6:7]", "s20, v[6:7]"), "v_div_fmas",
                                        "s_mov_b32 vcc_lo, s20\nv_div_fmas");
  for (const std::string& steps : {float_q, double_q}) {
    EXPECT_EQ(divisions(whole(number + steps)), 1u) << steps;
    expect_same(whole(number + steps));
    // A mask stood there, too, which somebody reads before.
    const std::string masks = "v_cmp_lt_u32 s20, v20, v21\nv_cndmask_b32 v21, v20, v3, s20\n";
    expect_same(whole(number + masks + steps));
    expect_same(whole(masks + number + steps));
  }
}

// The sign of what is divided, or of what it is divided by, may be turned, if it is wherever it is named.
TEST(Quotients, OfNegatedOperands) {
  const std::string float_n = replaced(replaced(replaced(kFloat, "v1, v1, v2\n", "v1, v1, -v2\n"),
                                                "vcc_lo, v2, v1, v2", "vcc_lo, -v2, v1, -v2"),
                                       "v8, v1, v2\n", "v8, v1, -v2\n");
  const std::string float_d = replaced(replaced(replaced(kFloat, "v1, v1, v2\n", "-v1, -v1, v2\n"),
                                                "vcc_lo, v2, v1, v2", "vcc_lo, v2, -v1, v2"),
                                       "v8, v1, v2\n", "v8, -v1, v2\n");
  const std::string double_n =
      replaced(replaced(replaced(kDouble, "v[4:5], v[6:7]\nv_rcp", "v[4:5], -v[6:7]\nv_rcp"),
                        "vcc_lo, v[6:7], v[4:5], v[6:7]", "vcc_lo, -v[6:7], v[4:5], -v[6:7]"),
               "v[8:9], v[4:5], v[6:7]", "v[8:9], v[4:5], -v[6:7]");
  for (const std::string& steps : {float_n, float_d, double_n}) {
    EXPECT_EQ(divisions(whole(steps)), 1u) << steps;
    expect_same(whole(steps));
    // Numbers of all kinds and sizes, and NaNs: which of two it is, and its sign.
    expect_same("v_lshlrev_b32 v5, 23, v5\n" + steps + std::string(kEnd));
    expect_same("v_mov_b32 v2, 0x7fc12345\nv_mov_b32 v7, 0x7ff81234\n" + steps + std::string(kEnd));
    expect_same("v_mov_b32 v1, 0xff812345\nv_mov_b32 v5, 0xfff01234\n" + steps + std::string(kEnd));
  }
  for (const std::string& steps : {replaced(float_n, "v8, v1, -v2\n", "v8, v1, v2\n"),
                                   replaced(float_n, "v1, -v2\nv_mul", "v1, v2\nv_mul"),
                                   replaced(float_d, "v8, -v1, v2\n", "v8, v1, v2\n")}) {
    EXPECT_EQ(divisions(whole(steps)), 0u) << steps;
    expect_same(whole(steps));
  }
}

TEST(Quotients, AreNoneIfAnythingDiffers) {
  struct Change {
    const char *from, *to;
  };
  const auto expect_none = [](std::string_view steps, std::initializer_list<Change> changes) {
    for (const Change& change : changes) {
      const std::string text = whole(replaced(steps, change.from, change.to));
      EXPECT_EQ(divisions(text), 0u) << text;
      expect_same(text);
    }
  };
  expect_none(kDouble,
              {{"v[10:11], 1.0", "v[10:11], 2.0"},
               {"-v[8:9], v[10:11]", "v[8:9], v[10:11]"},
               {"v[8:9], v[4:5], v[6:7]\n", "v[8:9], v[6:7], v[4:5]\n"},
               {"v[8:9], v[4:5], v[6:7]\n", "-v[8:9], v[4:5], v[6:7]\n"},
               {"v[8:9], v[4:5], v[6:7]\n", "v[8:9], |v[4:5]|, v[6:7]\n"},
               {"vcc_lo, v[6:7], v[4:5], v[6:7]", "vcc_lo, v[4:5], v[4:5], v[6:7]"},
               {"null, v[4:5], v[4:5], v[6:7]", "null, v[4:5], v[6:7], v[4:5]"},
               {"v_div_fmas", "s_mov_b32 vcc_lo, 0\nv_div_fmas"},
               {"v_div_fmas", "s_not_b32 vcc_lo, vcc_lo\nv_div_fmas"},
               {"v_rcp_f64", "v_rsq_f64"},
               {"v_mul_f64 v[12:13], v[14:15], v[10:11]", "v_mul_f64 v[12:13], v[14:15], v[10:11] mul:2"},
               {"v_mul_f64 v[12:13], v[14:15], v[10:11]", "v_add_f64 v[12:13], v[14:15], v[10:11]"},
               // Who reads or changes what is between
               {"v_div_fixup", "v_mov_b32 v20, v10\nv_div_fixup"},
               {"v_div_fixup", "v_cndmask_b32 v20, v10, v11, vcc_lo\nv_div_fixup"},
               {"v_div_fmas", "v_add_nc_u32 v13, 1, v13\nv_div_fmas"},
               {"v_div_fixup", "v_mov_b32 v7, v2\nv_div_fixup"},
               {"v_div_fmas", "v_cmpx_lt_u32 v1, v2\nv_div_fmas"}});
  expect_none(kFloat,
              {{"v_fmac_f32 v11, v12, v9", "v_fmac_f32 v11, v12, v10"},
               {"v_fma_f32 v12, -v8, v11, v10", "v_fma_f32 v12, -v8, v11, v9"},
               {"v_fma_f32 v8, -v8, v11, v10\n", "v_mov_b32 v8, v12\n"},
               {"v_div_fmas_f32 v8, v8, v9, v11", "v_div_fmas_f32 v8, v8, v9, v11 clamp"},
               {"v_fmac_f32 v9, v10, v9", "v_dual_fmac_f32 v9, v10, v9 :: v_dual_mul_f32 v20, v9, v10"}});
}

TEST(Quotients, OfRootsNothingMayDiffer) {
  EXPECT_EQ(roots(whole(kRoot)), 1u);
  expect_same(whole(kRoot));
  const std::string in_place = replaced(kRoot, "v[16:17], v[12:13]", "v[6:7], v[12:13]");
  EXPECT_EQ(roots(whole(in_place)), 1u);
  expect_same(whole(in_place));
  struct Change {
    const char *from, *to;
  };
  for (const Change& change : std::initializer_list<Change>{
           {"v[8:9], 0.5\n", "v[8:9], 1.0\n"},
           {"v[10:11], 0.5\n", "v[10:11], 1.0\n"},
           {"v_rsq_f64 v[8:9], v[6:7]", "v_rsq_f64 v[8:9], -v[6:7]"},
           {"v_rsq_f64", "v_rcp_f64"},
           {"v_mul_f64 v[10:11], v[6:7]", "v_mul_f64 v[10:11], v[4:5]"},
           {"-v[8:9], v[10:11]", "v[8:9], v[10:11]"},
           {"v_fma_f64 v[8:9], v[8:9], v[12:13], v[8:9]\n", ""},
           {"v_fma_f64 v[8:9], v[8:9], v[12:13], v[8:9]\n", "v_fma_f64 v[8:9], v[8:9], v[12:13], v[10:11]\n"},
           {"-v[10:11], v[10:11], v[6:7]", "-v[10:11], v[10:11], v[4:5]"},
           {"-v[10:11], v[10:11], v[6:7]", "-v[10:11], v[8:9], v[6:7]"},
           {"v[16:17], v[12:13]", "v[16:17], -v[12:13]"},
           {"v[16:17], v[12:13], v[8:9]", "v[16:17], v[12:13], v[10:11]"},
           {"v_fma_f64 v[16:17]", "v_mov_b32 v20, v13\nv_fma_f64 v[16:17]"},
           {"v_fma_f64 v[16:17]", "v_mov_b32 v6, v2\nv_fma_f64 v[16:17]"},
           {"v_fma_f64 v[16:17]", "v_cmpx_lt_u32 v1, v2\nv_fma_f64 v[16:17]"}}) {
    const std::string text = whole(replaced(kRoot, change.from, change.to));
    EXPECT_EQ(roots(text), 0u) << text;
    expect_same(text);
  }
}

// Of integers: v5 / v4 to v6, the rest to v7. Divisors are of all sizes, one in four of them is 0 and one in
// four more than the dividend.
constexpr std::string_view kBeginIntegers =
    "v_and_b32 v9, 31, v3\nv_lshrrev_b32 v4, v9, v1\nv_and_b32 v9, 3, v0\nv_cmp_eq_u32 vcc_lo, 0, v9\n"
    "v_cndmask_b32 v4, v4, 0, vcc_lo\nv_bfe_u32 v9, v3, 8, 5\nv_lshrrev_b32 v5, v9, v2\n";
constexpr std::string_view kInteger =
    "v_cvt_f32_u32 v8, v4\n"
    "v_rcp_iflag_f32 v8, v8\n"
    "v_mul_f32 v8, 0x4f7ffffe, v8\n"
    "v_sub_nc_u32 v9, 0, v4\n"
    "v_cvt_u32_f32 v8, v8\n"
    "v_mul_lo_u32 v9, v9, v8\n"
    "v_mul_hi_u32 v9, v8, v9\n"
    "v_add_nc_u32 v8, v8, v9\n"
    "v_mul_hi_u32 v8, v5, v8\n"
    "v_mul_lo_u32 v9, v8, v4\n"
    "v_sub_nc_u32 v9, v5, v9\n"
    "v_add_nc_u32 v10, 1, v8\n"
    "v_sub_nc_u32 v11, v9, v4\n"
    "v_cmp_ge_u32 vcc_lo, v9, v4\n"
    "v_dual_cndmask_b32 v8, v8, v10 :: v_dual_cndmask_b32 v9, v9, v11\n"
    "v_add_nc_u32 v10, 1, v8\n"
    "v_sub_nc_u32 v11, v9, v4\n"
    "v_cmp_ge_u32 vcc_lo, v9, v4\n"
    "v_cndmask_b32 v6, v8, v10, vcc_lo\n"
    "v_cndmask_b32 v7, v9, v11, vcc_lo\n";

std::string whole_of_integers(std::string_view steps) {
  return std::string(kBeginIntegers) + std::string(steps) + std::string(kEnd);
}

TEST(IntegerQuotients, AreFound) {
  const std::string paired =
      replaced(kInteger, "v_cndmask_b32 v6, v8, v10, vcc_lo\nv_cndmask_b32 v7, v9, v11, vcc_lo\n",
               "v_dual_cndmask_b32 v6, v8, v10 :: v_dual_cndmask_b32 v7, v9, v11\n");
  // As compilers write the same in other orders, with the operands' registers for results, and of a constant.
  const std::string reversed =
      replaced(replaced(kInteger, "v_sub_nc_u32 v11, v9, v4\nv_cmp_ge_u32 vcc_lo, v9, v4\nv_dual",
                        "v_subrev_nc_u32 v11, v4, v9\nv_cmp_le_u32 vcc_lo, v4, v9\nv_dual"),
               "v_mul_lo_u32 v9, v9, v8\nv_mul_hi_u32 v9, v8, v9\nv_add_nc_u32 v8, v8, v9",
               "v_mul_lo_u32 v9, v8, v9\nv_mul_hi_u32 v9, v9, v8\nv_add_nc_u32 v8, v9, v8");
  const std::string in_place = replaced(replaced(kInteger, "v6, v8", "v5, v8"), "v7, v9", "v4, v9");
  const std::string of_constant =
      replaced(replaced(kInteger, "v8, v5, v8", "v8, 0x7fffffff, v8"), "v9, v5, v9", "v9, 0x7fffffff, v9");
  for (const std::string& steps : {std::string(kInteger), paired, reversed, in_place, of_constant}) {
    EXPECT_EQ(integer_quotients(whole_of_integers(steps)), 2u) << steps;
    expect_same(whole_of_integers(steps));
  }
  // Compilers leave away what nobody reads.
  const std::string quotient_alone =
                        replaced(replaced(kInteger, "v_cndmask_b32 v7, v9, v11, vcc_lo\n", ""),
                                 "v9, v9, v11\nv_add_nc_u32 v10, 1, v8\nv_sub_nc_u32 v11, v9, v4\n",
                                 "v9, v9, v11\nv_add_nc_u32 v10, 1, v8\n"),
                    rest_alone = replaced(
                        replaced(replaced(replaced(kInteger, "v_cndmask_b32 v6, v8, v10, vcc_lo\n", ""),
                                          "v_dual_cndmask_b32 v8, v8, v10 :: v_dual_cndmask_b32 v9, v9, v11",
                                          "v_cndmask_b32 v9, v9, v11, vcc_lo"),
                                 "v_add_nc_u32 v10, 1, v8\n", ""),
                        "v_add_nc_u32 v10, 1, v8\n", "");
  for (const std::string& steps : {quotient_alone, rest_alone}) {
    EXPECT_EQ(integer_quotients(whole_of_integers(steps)), 1u) << steps;
    expect_same(whole_of_integers(steps));
  }
  // A divisor that all lanes have, negated by a scalar instruction of which somebody reads both results.
  std::string of_scalar(kInteger);
  for (size_t at; (at = of_scalar.find("v9, v4")) != std::string::npos;) of_scalar.replace(at, 6, "v9, s8");
  of_scalar = replaced(replaced(of_scalar, "v_cvt_f32_u32 v8, v4", "v_cvt_f32_u32 v8, s8"),
                       "v_sub_nc_u32 v9, 0, v4", "s_sub_i32 s9, 0, s8\ns_cselect_b32 s10, 1, 2");
  of_scalar = replaced(replaced(of_scalar, "v_mul_lo_u32 v9, v9, v8", "v_mul_lo_u32 v9, s9, v8"),
                       "v_mul_lo_u32 v9, v8, v4", "v_mul_lo_u32 v9, v8, s8");
  EXPECT_EQ(integer_quotients(whole_of_integers(of_scalar)), 2u) << of_scalar;
  for (const char* divisor : {"0", "1", "7", "0x80000001", "0xffffffff"})
    expect_same("s_mov_b32 s8, " + std::string(divisor) + "\n" + whole_of_integers(of_scalar));
  for (const auto& [from, to] : {std::pair{"s9, 0, s8", "s9, 1, s8"},
                                 {"s9, 0, s8", "s9, 0, s7"},
                                 {"v_mul_hi_u32 v8, v5", "s_mov_b32 s8, s7\nv_mul_hi_u32 v8, v5"}}) {
    const std::string changed = replaced(of_scalar, from, to);
    EXPECT_EQ(integer_quotients(whole_of_integers(changed)), 0u) << changed;
    expect_same(whole_of_integers(changed));
  }
  // Negated before, as by loops that count both: whether it is so shows when the code runs.
  const std::string of_counters =
      replaced(replaced(of_scalar, "s_sub_i32 s9, 0, s8\ns_cselect_b32 s10, 1, 2\n", ""),
               "v_sub_nc_u32 v11, v9, s8\nv_cmp_ge_u32 vcc_lo, v9, s8\nv_dual",
               "v_add_nc_u32 v11, s9, v9\nv_cmp_ge_u32 vcc_lo, v9, s8\nv_dual");
  const unsigned divisor = scalar_register(8);
  EXPECT_EQ(quotients_of(whole_of_integers(of_counters)).opposites,
            (std::set{std::pair{divisor, divisor + 1}}));
  for (const auto& [from, to] : {std::pair{"v_add_nc_u32 v11, s9", "v_add_nc_u32 v11, v3"},
                                 {"v_mul_lo_u32 v9, s9, v8", "s_mov_b32 s9, s7\nv_mul_lo_u32 v9, s9, v8"},
                                 {"v_mul_lo_u32 v9, s9, v8", "v_mul_lo_u32 v9, v3, v8"}}) {
    const std::string changed = replaced(of_counters, from, to);
    EXPECT_TRUE(quotients_of(whole_of_integers(changed)).earlier_results.empty()) << changed;
  }
  for (const uint32_t number : {0u, 1u, 7u, 0x80000001u, 0xffffffffu})
    for (const uint32_t off : {0u, 1u, 0x80000000u}) {
      EnginePair engines({.wave_size = 32, .seed = number + off});
      const auto set = [&](interpreter::TestWave& wave) {
        wave.s(8) = number;
        wave.s(9) = off - number;
      };
      EXPECT_EQ(engines.run(interpreter::assembled(whole_of_integers(of_counters), 32), set), "")
          << number << " " << off;
      EXPECT_EQ(engines.exits(Leave::doubt), off != 0) << number << " " << off;
    }
  // One behind the other, each of what the one before has left: the greatest common divisor.
  std::string both(kInteger);
  both += "v_dual_mov_b32 v5, v4 :: v_dual_mov_b32 v4, v7\nv_mov_b32 v20, v6\n";
  both += kInteger;
  EXPECT_EQ(integer_quotients(whole_of_integers(both)), 4u);
  expect_same(whole_of_integers(both));
}

TEST(IntegerQuotients, AreNoneIfAnythingDiffers) {
  struct Change {
    const char *from, *to;
  };
  for (const Change& change : std::initializer_list<Change>{
           {"0x4f7ffffe", "0x4f7fffff"},
           {"v_rcp_iflag_f32", "v_rsq_f32"},
           {"v_cvt_f32_u32", "v_cvt_f32_i32"},
           {"v_cvt_u32_f32", "v_cvt_i32_f32"},
           {"v_cvt_f32_u32 v8, v4", "v_cvt_f32_u32 v8, v5"},
           {"v9, 0, v4", "v9, 1, v4"},
           {"v9, 0, v4", "v9, 0, v5"},
           {"v_mul_hi_u32 v9, v8, v9", "v_mul_hi_i32 v9, v8, v9"},
           {"v_mul_hi_u32 v8, v5, v8", "v_mul_hi_u32 v8, v3, v8"},
           {"v_mul_lo_u32 v9, v8, v4", "v_mul_lo_u32 v9, v8, v5"},
           {"v_add_nc_u32 v10, 1, v8\nv_sub_nc_u32 v11, v9, v4\nv_cmp_ge_u32 vcc_lo, v9, v4\nv_dual",
            "v_add_nc_u32 v10, 2, v8\nv_sub_nc_u32 v11, v9, v5\nv_cmp_ge_u32 vcc_lo, v9, v4\nv_dual"},
           {"v_cmp_ge_u32 vcc_lo, v9, v4\nv_dual", "v_cmp_gt_u32 vcc_lo, v9, v4\nv_dual"},
           {"v_cmp_ge_u32 vcc_lo, v9, v4\nv_dual", "v_cmp_ge_i32 vcc_lo, v9, v4\nv_dual"},
           {"v_cmp_ge_u32 vcc_lo, v9, v4\nv_dual", "v_cmp_le_u32 vcc_lo, v9, v4\nv_dual"},
           {"v8, v8, v10 :: v_dual_cndmask_b32 v9, v9, v11", "v8, v10, v8 :: v_dual_cndmask_b32 v9, v11, v9"},
           // Who reads or changes what is between
           {"v_dual", "v_mov_b32 v20, v8\nv_dual"},
           {"v_cndmask_b32 v6", "v_mov_b32 v20, v9\nv_cndmask_b32 v6"},
           {"v_cndmask_b32 v6", "v_cndmask_b32 v20, v2, v3, vcc_lo\nv_cndmask_b32 v6"},
           {"v_dual", "s_not_b32 vcc_lo, vcc_lo\nv_dual"},
           {"v_dual", "s_mov_b32 s20, vcc_lo\nv_dual"},
           {"v_dual", "v_add_nc_u32 v11, 1, v11\nv_dual"},
           {"v_mul_lo_u32 v9, v8, v4", "v_add_nc_u32 v4, 0, v4\nv_mul_lo_u32 v9, v8, v4"},
           {"v_dual", "v_cmpx_lt_u32 v1, v2\nv_dual"}}) {
    const std::string text = whole_of_integers(replaced(kInteger, change.from, change.to));
    EXPECT_EQ(integer_quotients(text), 0u) << text;
    expect_same(text);
  }
  // The dividend is what only steps of another quotient are.
  const std::string of_step = std::string(kInteger) + replaced(replaced(kInteger, "v8, v5, v8", "v8, v9, v8"),
                                                               "v9, v5, v9", "v9, v9, v9");
  expect_same(whole_of_integers(of_step));
}

TEST(IntegerQuotients, KeepWhatIsReadLater) {
  const std::string text = std::string(kBeginIntegers) + std::string(kInteger);
  expect_same(text);
  const Routine routine = routine_of(text);
  const Facts facts = analyse(routine);
  std::vector<unsigned> nodes;
  for (unsigned n = 0; n < routine.blocks[0].last; ++n) nodes.push_back(n);
  const auto found = [&](unsigned read) {
    return find_quotients(routine, facts, nodes, RegisterSet().set(read)).earlier_results.size();
  };
  for (const unsigned step : {8u, 9u, 10u, 11u, kVcc}) EXPECT_EQ(found(step), 0u) << step;
  for (const unsigned other : {4u, 5u, 6u, 7u}) EXPECT_EQ(found(other), 2u) << other;
}

TEST(IntegerQuotients, UnderPartOfExec) {
  expect_same(
      "v_mov_b32 v8, v3\nv_mov_b32 v6, v3\ns_mov_b32 s30, exec_lo\nv_cmp_lt_u32 s31, v20, v21\n"
      "s_and_b32 exec_lo, s31, exec_lo\ns_cbranch_execz done\n" +
      whole_of_integers(kInteger) + "done:\ns_mov_b32 exec_lo, s30\nv_add_nc_u32 v14, v8, v6\n");
}

// What is read behind the block is not given up.
TEST(Quotients, KeepWhatIsReadLater) {
  for (const std::string_view steps : {kDouble, kFloat, kRoot})
    expect_same(std::string(kBegin) + std::string(steps));
  const Routine routine = routine_of(std::string(kBegin) + std::string(kDouble));
  const Facts facts = analyse(routine);
  std::vector<unsigned> nodes;
  for (unsigned n = 0; n < routine.blocks[0].last; ++n) nodes.push_back(n);
  EXPECT_EQ(find_quotients(routine, facts, nodes, RegisterSet().set(14)).divisions.size(), 0u);
  EXPECT_EQ(find_quotients(routine, facts, nodes, RegisterSet().set(kVcc)).divisions.size(), 0u);
  EXPECT_EQ(find_quotients(routine, facts, nodes, RegisterSet().set(16)).divisions.size(), 1u);
}

// Lanes that are off keep what they had, and what is stored for them.
TEST(Quotients, UnderPartOfExec) {
  for (const std::string_view steps : {kDouble, kFloat, kRoot})
    expect_same(
        "v_mov_b32 v14, v3\nv_mov_b32 v9, v3\ns_mov_b32 s30, exec_lo\nv_cmp_lt_u32 s31, v20, v21\n"
        "s_and_b32 exec_lo, s31, exec_lo\ns_cbranch_execz done\n" +
        whole(steps) + "done:\ns_mov_b32 exec_lo, s30\nv_add_nc_u32 v14, v14, v9\n");
}

}  // namespace
}  // namespace lockstep::translator
