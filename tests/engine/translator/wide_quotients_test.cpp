// A quotient of 64-bit integers is one division only if all of its steps are there, and nobody looks at what
// is between.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/translator/quotients.h"
#include "numeric/wide_quotient.h"
#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

// v[4:5] / v[2:3] to v[40:41], what is left to v[42:43].
constexpr std::string_view kReciprocal =
    "v_cvt_f32_u32 v6, v2\n"
    "v_cvt_f32_u32 v7, v3\n"
    "v_sub_co_u32 v13, vcc_lo, 0, v2\n"
    "v_sub_co_ci_u32 v14, vcc_lo, 0, v3, vcc_lo\n"
    "v_fmamk_f32 v6, v7, 0x4f800000, v6\n"
    "v_rcp_f32 v6, v6\n"
    "v_mul_f32 v6, 0x5f7ffffc, v6\n"
    "v_mul_f32 v7, 0x2f800000, v6\n"
    "v_trunc_f32 v7, v7\n"
    "v_fmamk_f32 v6, v7, 0xcf800000, v6\n"
    "v_cvt_u32_f32 v15, v7\n"
    "v_cvt_u32_f32 v16, v6\n";
constexpr std::string_view kNewton =
    "v_mul_lo_u32 v8, v13, v15\n"
    "v_mul_lo_u32 v9, v14, v16\n"
    "v_mad_u64_u32 v[6:7], null, v13, v16, 0\n"
    "v_add3_u32 v17, v7, v8, v9\n"
    "v_mul_hi_u32 v18, v16, v6\n"
    "v_mad_u64_u32 v[9:10], null, v15, v6, 0\n"
    "v_mad_u64_u32 v[7:8], null, v16, v17, 0\n"
    "v_mad_u64_u32 v[11:12], null, v15, v17, 0\n"
    "v_add_co_u32 v6, vcc_lo, v18, v7\n"
    "v_add_co_ci_u32 v7, vcc_lo, 0, v8, vcc_lo\n"
    "v_add_co_u32 v6, vcc_lo, v6, v9\n"
    "v_add_co_ci_u32 v6, vcc_lo, v7, v10, vcc_lo\n"
    "v_add_co_ci_u32 v7, vcc_lo, 0, v12, vcc_lo\n"
    "v_add_co_u32 v6, vcc_lo, v6, v11\n"
    "v_add_co_ci_u32 v7, vcc_lo, 0, v7, vcc_lo\n"
    "v_add_co_u32 v16, vcc_lo, v16, v6\n"
    "v_add_co_ci_u32 v15, vcc_lo, v15, v7, vcc_lo\n";
constexpr std::string_view kEstimate =
    "v_mul_hi_u32 v17, v4, v16\n"
    "v_mad_u64_u32 v[8:9], null, v5, v16, 0\n"
    "v_mad_u64_u32 v[6:7], null, v4, v15, 0\n"
    "v_mad_u64_u32 v[10:11], null, v5, v15, 0\n"
    "v_add_co_u32 v6, vcc_lo, v17, v6\n"
    "v_add_co_ci_u32 v7, vcc_lo, 0, v7, vcc_lo\n"
    "v_add_co_u32 v6, vcc_lo, v6, v8\n"
    "v_add_co_ci_u32 v6, vcc_lo, v7, v9, vcc_lo\n"
    "v_add_co_ci_u32 v7, vcc_lo, 0, v11, vcc_lo\n"
    "v_add_co_u32 v8, vcc_lo, v6, v10\n"
    "v_add_co_ci_u32 v9, vcc_lo, 0, v7, vcc_lo\n"
    "v_mul_lo_u32 v10, v3, v8\n"
    "v_mad_u64_u32 v[6:7], null, v2, v8, 0\n"
    "v_mul_lo_u32 v11, v2, v9\n"
    "v_add3_u32 v7, v7, v11, v10\n";
constexpr std::string_view kCorrections =
    "v_sub_co_u32 v12, vcc_lo, v4, v6\n"
    "v_sub_nc_u32 v10, v5, v7\n"
    "v_sub_co_ci_u32 v6, s4, v10, v3, vcc_lo\n"
    "v_sub_co_ci_u32 v13, vcc_lo, v5, v7, vcc_lo\n"
    "v_sub_co_u32 v14, vcc_lo, v12, v2\n"
    "v_subrev_co_ci_u32 v15, s4, 0, v6, vcc_lo\n"
    "v_sub_co_ci_u32 v6, vcc_lo, v6, v3, vcc_lo\n"
    "v_cmp_ge_u32 vcc_lo, v14, v2\n"
    "v_cndmask_b32 v16, 0, -1, vcc_lo\n"
    "v_cmp_ge_u32 vcc_lo, v15, v3\n"
    "v_cndmask_b32 v17, 0, -1, vcc_lo\n"
    "v_cmp_eq_u32 vcc_lo, v15, v3\n"
    "v_cndmask_b32 v16, v17, v16, vcc_lo\n"
    "v_cmp_ge_u32 vcc_lo, v12, v2\n"
    "v_cndmask_b32 v17, 0, -1, vcc_lo\n"
    "v_cmp_ge_u32 s4, v13, v3\n"
    "v_cndmask_b32 v18, 0, -1, s4\n"
    "v_cmp_eq_u32 vcc_lo, v13, v3\n"
    "v_cndmask_b32 v17, v18, v17, vcc_lo\n"
    "v_cmp_ne_u32 s5, 0, v17\n"
    "v_cmp_ne_u32 vcc_lo, 0, v16\n";
constexpr std::string_view kQuotient =
    "v_add_co_u32 v10, s4, v8, 2\n"
    "v_add_co_ci_u32 v11, s4, 0, v9, s4\n"
    "v_add_co_u32 v17, s4, v8, 1\n"
    "v_add_co_ci_u32 v18, s4, 0, v9, s4\n"
    "v_dual_cndmask_b32 v18, v18, v11 :: v_dual_cndmask_b32 v17, v17, v10\n"
    "v_cndmask_b32 v40, v8, v17, s5\n"
    "v_cndmask_b32 v41, v9, v18, s5\n";
constexpr std::string_view kRest =
    "v_sub_co_u32 v10, s4, v14, v2\n"
    "v_subrev_co_ci_u32 v6, s4, 0, v6, s4\n"
    "v_cndmask_b32 v10, v14, v10, vcc_lo\n"
    "v_cndmask_b32 v6, v15, v6, vcc_lo\n"
    "v_cndmask_b32 v42, v12, v10, s5\n"
    "v_cndmask_b32 v43, v13, v6, s5\n";

std::string steps(bool has_quotient = true, bool has_rest = true) {
  std::string text;
  for (const std::string_view part : {kReciprocal, kNewton, kNewton, kEstimate, kCorrections}) text += part;
  if (!has_rest) text = replaced(text, "v_sub_co_ci_u32 v6, vcc_lo, v6, v3, vcc_lo\n", "");
  if (has_quotient) text += kQuotient;
  if (has_rest) text += kRest;
  return text;
}

// All that is between is gone then.
std::string whole(const std::string& steps) {
  std::string text = steps;
  for (int i = 6; i <= 18; ++i) text += "v_mov_b32 v" + std::to_string(i) + ", 0\n";
  return text + "s_mov_b32 s4, 0\ns_mov_b32 s5, 0\ns_mov_b32 vcc_lo, 0\ns_mov_b32 vcc_hi, 0\n";
}

size_t words(const std::string& text, unsigned wave_size = 32) {
  return quotients_of(text, wave_size).earlier_results.size();
}

std::string all_replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// Of numbers of all sizes, zeros among them; divisors up to the dividend, and some above it.
void expect_same(const std::string& text, unsigned wave_size = 32, uint64_t scalar = 0) {
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x00ff'0f0f'33ff'0ff0}}) {
    for (unsigned round = 0; round < 6; ++round) {
      EnginePair pair({.wave_size = wave_size, .exec = exec, .seed = round + 1});
      std::vector<uint32_t> code = interpreter::assembled(text, wave_size);
      code.pop_back();
      const auto prepare = [&](interpreter::TestWave& wave) {
        uint64_t state = 77 * round + 1;
        const auto number = [&](unsigned) {
          state = state * 6364136223846793005 + 1442695040888963407;
          const uint64_t bits = state ^ state >> 29;
          return (state >> 13) % 23 == 0 ? 0 : bits >> (state >> 40) % 64;
        };
        for (const unsigned pair_of : {2u, 4u}) {
          uint64_t last = 0;
          wave.fill(pair_of, [&](unsigned lane) { return static_cast<uint32_t>(last = number(lane)); });
          wave.fill(pair_of + 1,
                    [&](unsigned lane) { return static_cast<uint32_t>(number(lane) >> (lane % 33)); });
        }
        wave.s(8) = static_cast<uint32_t>(scalar);
        wave.s(9) = static_cast<uint32_t>(scalar >> 32);
      };
      EXPECT_EQ(pair.run(code, prepare), "") << text;
    }
  }
}

TEST(WideQuotients, AreFound) {
  EXPECT_EQ(words(whole(steps())), 4u);
  expect_same(whole(steps()));
  EXPECT_EQ(words(whole(steps(true, false))), 2u);
  expect_same(whole(steps(true, false)));
  EXPECT_EQ(words(whole(steps(false, true))), 2u);
  expect_same(whole(steps(false, true)));
  // The registers of the operands are those of the results.
  const std::string in_place = replaced(replaced(steps(), "v42, v12", "v4, v12"), "v43, v13", "v3, v13");
  EXPECT_EQ(words(whole(in_place)), 4u);
  expect_same(whole(in_place));
  // One word of a result is all that anybody reads, as of a rest that is less than 2^32.
  const std::string low_word = replaced(replaced(steps(false, true), "v_cndmask_b32 v43, v13, v6, s5\n", ""),
                                        "v_cndmask_b32 v6, v15, v6, vcc_lo\n", "");
  const std::string low_alone =
      replaced(low_word, "v_subrev_co_ci_u32 v6, s4, 0, v6, s4\nv_cndmask_b32 v10", "v_cndmask_b32 v10");
  EXPECT_EQ(words(whole(replaced(low_alone, "v_sub_co_ci_u32 v6, vcc_lo, v6, v3, vcc_lo\n", ""))), 1u);
  expect_same(whole(low_alone));
}

TEST(WideQuotients, AsCompilersWriteThem) {
  const std::string fused =
      replaced(replaced(steps(), "v_fmamk_f32 v6, v7, 0x4f800000, v6", "v_fmac_f32 v6, 0x4f800000, v7"),
               "v_fmamk_f32 v6, v7, 0xcf800000, v6", "v_fmac_f32 v6, 0xcf800000, v7");
  const std::string reversed =
      replaced(replaced(replaced(steps(), "v_cmp_ge_u32 vcc_lo, v14, v2", "v_cmp_le_u32 vcc_lo, v2, v14"),
                        "v_sub_co_u32 v14, vcc_lo, v12, v2", "v_subrev_co_u32 v14, vcc_lo, v2, v12"),
               "v_add3_u32 v17, v7, v8, v9", "v_add3_u32 v17, v9, v7, v8");
  // Products by halves, sums one after the other, and those of the other order.
  const std::string halves = replaced(
      replaced(steps(), "v_mad_u64_u32 v[6:7], null, v13, v16, 0\nv_add3_u32 v17, v7, v8, v9",
               "v_mul_hi_u32 v7, v13, v16\nv_add_nc_u32 v7, v7, v8\nv_mul_lo_u32 v6, v13, v16\nv_add_nc_u32 "
               "v17, v9, v7"),
      "v_mad_u64_u32 v[11:12], null, v15, v17, 0", "v_mul_hi_u32 v12, v15, v17\nv_mul_lo_u32 v11, v15, v17");
  const std::string other_order = replaced(
      replaced(replaced(steps(), "v_add_co_u32 v6, vcc_lo, v17, v6\nv_add_co_ci_u32 v7, vcc_lo, 0, v7",
                        "v_add_co_u32 v6, vcc_lo, v17, v8\nv_add_co_ci_u32 v9, vcc_lo, 0, v9"),
               "v_add_co_u32 v6, vcc_lo, v6, v8\nv_add_co_ci_u32 v6, vcc_lo, v7, v9",
               "v_add_co_u32 v6, vcc_lo, v6, v20\nv_add_co_ci_u32 v6, vcc_lo, v9, v21"),
      "v_mad_u64_u32 v[6:7], null, v4, v15, 0", "v_mad_u64_u32 v[20:21], null, v4, v15, 0");
  for (const std::string& text : {fused, reversed, halves, other_order}) {
    EXPECT_EQ(words(whole(text) + "v_mov_b32 v20, 0\nv_mov_b32 v21, 0\n"), 4u) << text;
    expect_same(whole(text));
  }
}

std::string of_scalar_divisor() {
  const std::string text = all_replaced(all_replaced(steps(), "v2", "s8"), "v3", "s9");
  return replaced(
      all_replaced(all_replaced(replaced(text, "v_sub_co_u32 v13, vcc_lo, 0, s8", "s_sub_u32 s10, 0, s8"),
                                "v13, v1", "s10, v1"),
                   "v14, v16\n", "s11, v16\n"),
      "v_sub_co_ci_u32 v14, vcc_lo, 0, s9, vcc_lo", "s_subb_u32 s11, 0, s9");
}

TEST(WideQuotients, ByANumberOfAllLanes) {
  const std::string text = whole(of_scalar_divisor());
  EXPECT_EQ(words(text), 4u) << text;
  for (const uint64_t divisor : {uint64_t{0}, uint64_t{1}, uint64_t{7}, uint64_t{0xffffffff},
                                 uint64_t{1} << 32, uint64_t{0x123456789abc}, ~uint64_t{0}})
    expect_same(text, 32, divisor);
  for (const auto& [from, to] : {std::pair{"s_sub_u32 s10, 0, s8", "s_sub_u32 s10, 1, s8"},
                                 {"s_subb_u32 s11, 0, s9", "s_sub_u32 s11, 0, s9"},
                                 {"s_subb_u32 s11, 0, s9", "s_cmp_eq_u32 s8, s9\ns_subb_u32 s11, 0, s9"},
                                 {"v_mul_hi_u32 v17, v4", "s_mov_b32 s8, s9\nv_mul_hi_u32 v17, v4"}}) {
    const std::string changed = replaced(text, from, to);
    EXPECT_EQ(words(changed), 0u) << changed;
    expect_same(changed, 32, 0x123456789abc);
  }
}

// As in a loop that divides by an argument: its first estimate is in v16 and v15, its opposite in s[10:11].
std::string of_estimate() {
  const std::string text = of_scalar_divisor();
  return text.substr(text.find("v_mul_lo_u32 v8, s10, v15"));
}

// Whether waves left to the interpreter.
bool expect_same_of_estimate(const std::string& text, uint64_t divisor, uint64_t opposite,
                             const std::function<uint64_t(unsigned)>& estimate,
                             uint64_t exec = ~uint64_t{0}) {
  EnginePair pair({.exec = exec, .seed = 1});
  std::vector<uint32_t> code = interpreter::assembled(text, 32);
  code.pop_back();
  const auto prepare = [&](interpreter::TestWave& wave) {
    const auto dividend = [&](unsigned lane) {
      const uint64_t bits = (lane + 1) * 0x9e3779b97f4a7c15;
      return lane % 4 == 0 ? bits >> lane : lane % 4 == 1 && divisor != 0 ? bits / divisor * divisor : bits;
    };
    const auto fill = [&](unsigned number, const auto& value) {
      wave.fill(number, [&](unsigned lane) { return static_cast<uint32_t>(value(lane)); });
    };
    fill(4, dividend);
    fill(5, [&](unsigned lane) { return dividend(lane) >> 32; });
    fill(16, estimate);
    fill(15, [&](unsigned lane) { return estimate(lane) >> 32; });
    for (unsigned word = 0; word < 2; ++word) {
      wave.s(8 + word) = static_cast<uint32_t>(divisor >> 32 * word);
      wave.s(10 + word) = static_cast<uint32_t>(opposite >> 32 * word);
    }
  };
  EXPECT_EQ(pair.run(code, prepare), "") << text;
  return pair.exits(Leave::doubt) > 0;
}

TEST(WideQuotients, FromAnEstimateBeforeTheRun) {
  const std::string text = whole(of_estimate());
  EXPECT_EQ(words(text), 4u) << text;
  for (const uint64_t divisor : {uint64_t{1}, uint64_t{7}, uint64_t{1} << 20, uint64_t{3000000019},
                                 uint64_t{0x123456789abc}, uint64_t{0xfedcba9876543210}, ~uint64_t{0}}) {
    const uint64_t most = ~uint64_t{0} / divisor, error = numeric::kWideEstimateError / divisor + 1;
    for (const uint64_t less : {uint64_t{0}, uint64_t{1}, std::min(error, most)})
      EXPECT_FALSE(expect_same_of_estimate(text, divisor, 0 - divisor, [&](unsigned) { return most - less; }))
          << divisor << ' ' << less;
    for (const uint64_t wrong : {most + 1, most - error - 1, most ^ uint64_t{1} << 63})
      EXPECT_TRUE(expect_same_of_estimate(text, divisor, 0 - divisor, [&](unsigned) { return wrong; }))
          << divisor << ' ' << wrong;
    const auto in_one_lane = [&](unsigned lane) { return lane == 19 ? most + 1 : most; };
    EXPECT_TRUE(expect_same_of_estimate(text, divisor, 0 - divisor, in_one_lane));
    EXPECT_FALSE(expect_same_of_estimate(text, divisor, 0 - divisor, in_one_lane, ~(uint64_t{1} << 19)));
    // Another number than the opposite
    for (const uint64_t other : {1 - divisor, (0 - divisor) ^ uint64_t{1} << 32, uint64_t{0}})
      EXPECT_TRUE(expect_same_of_estimate(text, divisor, other, [&](unsigned) { return most; }));
  }
  EXPECT_TRUE(expect_same_of_estimate(text, 0, 0, [](unsigned) { return uint64_t{5}; }));
}

TEST(WideQuotients, FromWhatIsNoEstimate) {
  for (const auto& [from, to] :
       {std::pair{"v_mul_lo_u32 v8, s10, v15", "v_mul_lo_u32 v8, s10, v16"},
        {"v_mul_lo_u32 v8, s10, v15", "s_mov_b32 s10, s12\nv_mul_lo_u32 v8, s10, v15"},
        {"v_mul_lo_u32 v8, s10, v15", "v_mov_b32 v16, 5\nv_mul_lo_u32 v8, s10, v15"},
        {"v_mul_hi_u32 v17, v4", "s_mov_b32 s8, s12\nv_mul_hi_u32 v17, v4"},
        {"v_mul_hi_u32 v18, v16, v6", "v_mul_hi_u32 v18, v15, v6"}}) {
    const std::string text = whole(replaced(of_estimate(), from, to));
    EXPECT_EQ(words(text), 0u) << text;
    expect_same_of_estimate(text, 1000003, 0 - uint64_t{1000003},
                            [](unsigned) { return ~uint64_t{0} / 1000003; });
  }
}

// Whose high half is known to be 0, of which compilers leave much away.
std::string of_short_divisor() {
  std::string text = steps(false, true);
  for (const auto& [from, to] :
       {std::pair{"v_cvt_f32_u32 v7, v3\n", ""},
        {"0, v3, vcc_lo\nv_fmamk_f32 v6, v7", "0, 0, vcc_lo\nv_fmamk_f32 v6, 0"},
        {"v_mul_lo_u32 v10, v3, v8\n", ""},
        {"v_mul_lo_u32 v11, v2, v9\nv_add3_u32 v7, v7, v11, v10\n",
         "v_mad_u64_u32 v[10:11], null, v2, v9, v[7:8]\nv_mov_b32 v19, v7\n"},
        {"v_sub_nc_u32 v10, v5, v7\nv_sub_co_ci_u32 v6, s4, v10, v3, vcc_lo\n", ""},
        {"v13, vcc_lo, v5, v7, vcc_lo", "v13, vcc_lo, v5, v10, vcc_lo"},
        {"v_subrev_co_ci_u32 v15, s4, 0, v6, vcc_lo\nv_sub_co_ci_u32 v6, vcc_lo, v6, v3, vcc_lo\n",
         "v_subrev_co_ci_u32 v15, s4, 0, v13, vcc_lo\n"},
        {"v_cmp_ge_u32 vcc_lo, v15, v3\nv_cndmask_b32 v17, 0, -1, vcc_lo\n", ""},
        {"vcc_lo, v15, v3\nv_cndmask_b32 v16, v17", "vcc_lo, 0, v15\nv_cndmask_b32 v16, -1"},
        {"v_cmp_ge_u32 s4, v13, v3\nv_cndmask_b32 v18, 0, -1, s4\n", ""},
        {"vcc_lo, v13, v3\nv_cndmask_b32 v17, v18", "vcc_lo, 0, v13\nv_cndmask_b32 v17, -1"},
        {"v6, s4, 0, v6, s4", "v6, s4, 0, v15, s4"}})
    text = replaced(text, from, to);
  return text;
}

TEST(WideQuotients, ByAShortNumber) {
  const std::string fused = replaced(of_short_divisor(), "v_mov_b32 v19, v7\n", "");
  const std::string plain = replaced(fused, "v_mad_u64_u32 v[10:11], null, v2, v9, v[7:8]",
                                     "v_mul_lo_u32 v11, v2, v9\nv_add_nc_u32 v10, v7, v11");
  for (const std::string& text : {fused, plain}) {
    EXPECT_EQ(words(whole(text)), 2u) << text;
    expect_same(whole(text));
  }
  EXPECT_EQ(words(whole(of_short_divisor())), 0u);
  EXPECT_EQ(words(whole(replaced(fused, "v_mad_u64_u32 v[10:11], null, v2, v9, v[7:8]",
                                 "v_mad_u64_u32 v[10:11], null, v2, v9, v[6:7]"))),
            0u);
}

TEST(WideQuotients, InWavesOf64) {
  std::string text = steps();
  text = all_replaced(all_replaced(all_replaced(text, "vcc_lo", "vcc"), "s4", "s[4:5]"), "s5,", "s[6:7],");
  text = all_replaced(text, ", s5\n", ", s[6:7]\n");
  text = replaced(text, "v_dual_cndmask_b32 v18, v18, v11 :: v_dual_cndmask_b32 v17, v17, v10",
                  "v_cndmask_b32 v18, v18, v11, vcc\nv_cndmask_b32 v17, v17, v10, vcc");
  text = whole(text) + "s_mov_b32 s6, 0\ns_mov_b32 s7, 0\n";
  EXPECT_EQ(words(text, 64), 4u) << text;
  expect_same(text, 64);
  const std::string half =
      replaced(text, "v_subrev_co_ci_u32 v15", "s_mov_b32 vcc_hi, 0\nv_subrev_co_ci_u32 v15");
  EXPECT_EQ(words(half, 64), 0u);
  expect_same(half, 64);
}

TEST(WideQuotients, AreNoneIfAnythingDiffers) {
  for (const auto& [from, to] :
       {std::pair{"0x5f7ffffc", "0x5f7ffffd"},
        {"0x4f800000", "0x4f800001"},
        {"0xcf800000", "0xcf000000"},
        {"0x2f800000", "0x2f000000"},
        {"v_rcp_f32", "v_rsq_f32"},
        {"v_trunc_f32", "v_ceil_f32"},
        {"v_cvt_u32_f32 v15, v7", "v_cvt_u32_f32 v15, v6"},
        {"v_cvt_f32_u32 v7, v3", "v_cvt_f32_i32 v7, v3"},
        {"v_cvt_f32_u32 v7, v3", "v_cvt_f32_u32 v7, v2"},
        {"v13, vcc_lo, 0, v2", "v13, vcc_lo, 1, v2"},
        {"v14, vcc_lo, 0, v3, vcc_lo", "v14, vcc_lo, 0, v3, s4"},
        {"v_mul_lo_u32 v9, v14, v16", "v_mul_lo_u32 v9, v14, v15"},
        {"v_mul_hi_u32 v18, v16, v6", "v_mul_hi_i32 v18, v16, v6"},
        {"v[9:10], null, v15, v6, 0", "v[9:10], null, v15, v6, 1"},
        {"v_add_co_ci_u32 v6, vcc_lo, v7, v10, vcc_lo", "v_add_co_ci_u32 v6, vcc_lo, v7, v10, s4"},
        {"v_add_co_ci_u32 v7, vcc_lo, 0, v12, vcc_lo", "v_add_co_ci_u32 v7, vcc_lo, 1, v12, vcc_lo"},
        {"v_mul_hi_u32 v17, v4, v16", "v_mul_hi_u32 v17, v2, v16"},
        {"v_mad_u64_u32 v[10:11], null, v5, v15, 0", "v_mad_u64_u32 v[10:11], null, v4, v15, 0"},
        {"v_mul_lo_u32 v10, v3, v8", "v_mul_lo_u32 v10, v3, v9"},
        {"v12, vcc_lo, v4, v6", "v12, vcc_lo, v6, v4"},
        {"v10, v3, vcc_lo\nv_sub_co_ci_u32 v13, vcc_lo, v5",
         "v10, v3, vcc_lo\nv_sub_co_ci_u32 v13, vcc_lo, v4"},
        {"v15, s4, 0, v6, vcc_lo", "v15, s4, 1, v6, vcc_lo"},
        {"v_cmp_ge_u32 vcc_lo, v14, v2", "v_cmp_gt_u32 vcc_lo, v14, v2"},
        {"v_cmp_eq_u32 vcc_lo, v15, v3", "v_cmp_ne_u32 vcc_lo, v15, v3"},
        {"v_cmp_ge_u32 s4, v13, v3", "v_cmp_ge_i32 s4, v13, v3"},
        {"v_cndmask_b32 v16, 0, -1", "v_cndmask_b32 v16, -1, 0"},
        {"v_cndmask_b32 v17, v18, v17", "v_cndmask_b32 v17, v17, v18"},
        {"v_cmp_ne_u32 s5, 0, v17", "v_cmp_ne_u32 s5, 1, v17"},
        {"v_cmp_ne_u32 s5, 0, v17", "v_cmp_ne_u32 s5, 0, v16"},
        // Who reads or changes what is between
        {"v_cmp_ne_u32 s5", "v_mov_b32 v44, v8\nv_cmp_ne_u32 s5"},
        {"v_cmp_ne_u32 s5", "v_cndmask_b32 v44, v2, v3, s4\nv_cmp_ne_u32 s5"},
        {"v_sub_co_ci_u32 v13", "s_not_b32 vcc_lo, vcc_lo\nv_sub_co_ci_u32 v13"},
        {"v_sub_nc_u32 v10, v5, v7", "v_add_nc_u32 v5, 1, v5\nv_sub_nc_u32 v10, v5, v7"},
        {"v_sub_nc_u32 v10, v5, v7", "v_cmpx_lt_u32 v1, v2\nv_sub_nc_u32 v10, v5, v7"}}) {
    const std::string text = whole(replaced(steps(), from, to));
    EXPECT_EQ(words(text), 0u) << from << " to " << to;
    expect_same(text);
  }
  // What one result alone is made of.
  for (const auto& [from, to] : {std::pair{"s4, v8, 2", "s4, v8, 3"},
                                 {"s4, v8, 1", "s4, v9, 1"},
                                 {"v18, v18, v11 :: v_dual_cndmask_b32 v17, v17, v10",
                                  "v18, v11, v18 :: v_dual_cndmask_b32 v17, v10, v17"},
                                 {"v10, s4, v14, v2", "v10, s4, v14, v3"},
                                 {"v42, v12, v10, s5", "v42, v12, v10, s4"}}) {
    const std::string text = whole(replaced(steps(), from, to));
    EXPECT_LT(words(text), 4u) << from << " to " << to;
    expect_same(text);
  }
}

TEST(WideQuotients, KeepWhatIsReadLater) {
  expect_same(steps());
  const auto found = [](unsigned read) {
    return quotients_of(steps(), 32, RegisterSet().set(read)).earlier_results.size();
  };
  for (const unsigned step : {8u, 12u, 16u, kVcc, scalar_register(5)}) EXPECT_EQ(found(step), 0u) << step;
  for (const unsigned other : {2u, 3u, 4u, 5u, 40u, 41u, 42u, 43u}) EXPECT_EQ(found(other), 4u) << other;
}

// As compilers branch around it, so that the registers of its steps still have the operands of the other way
// in the lanes that are off.
std::string in_a_branch() {
  return "v_or_b32 v1, v5, v3\nv_cmp_ne_u32 vcc_lo, 0, v1\ns_and_saveexec_b32 s20, vcc_lo\n"
         "s_xor_b32 s21, exec_lo, s20\ns_cbranch_execz other\n" +
         replaced(replaced(steps(false, true), "v12, vcc_lo, v4, v6", "v4, vcc_lo, v4, v6"), "v42, v12",
                  "v42, v4");
}

TEST(WideQuotients, InABranch) {
  std::string one_way = all_replaced(in_a_branch(), "v12, v2", "v4, v2");
  const std::string text =
      one_way +
      "other:\ns_and_not1_saveexec_b32 s20, s21\ns_cbranch_execz done\n"
      "v_mov_b32 v43, 0\nv_mul_lo_u32 v42, v4, v2\ndone:\ns_or_b32 exec_lo, exec_lo, s20\n"
      "v_xor_b32 v1, v42, v43\n";
  expect_same(text);
  EnginePair pair({.seed = 3});
  EXPECT_EQ(pair.run(interpreter::assembled(text, 32)), "");
}

}  // namespace
}  // namespace lockstep::translator
