// A quotient of a 64-bit integer by a constant is one product only if its reciprocal is what it must be,
// which is looked at where the steps read it.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "engine/translator/quotients.h"
#include "numeric/wide_quotient.h"
#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

// v[4:5] / 10 to v[40:41], what is left to v[42:43]; the reciprocal is in v16 and s9.
constexpr std::string_view kSteps =
    "v_mad_u64_u32 v[6:7], null, v4, s9, 0\n"
    "v_mul_hi_u32 v17, v4, v16\n"
    "v_mad_u64_u32 v[8:9], null, v5, v16, 0\n"
    "v_mad_u64_u32 v[10:11], null, v5, s9, 0\n"
    "v_add_co_u32 v6, vcc_lo, v17, v6\n"
    "v_add_co_ci_u32 v7, vcc_lo, 0, v7, vcc_lo\n"
    "v_add_co_u32 v6, vcc_lo, v6, v8\n"
    "v_add_co_ci_u32 v6, vcc_lo, v7, v9, vcc_lo\n"
    "v_add_co_ci_u32 v7, vcc_lo, 0, v11, vcc_lo\n"
    "v_add_co_u32 v8, vcc_lo, v6, v10\n"
    "v_add_co_ci_u32 v9, vcc_lo, 0, v7, vcc_lo\n"
    "v_mad_u64_u32 v[6:7], null, v8, 10, 0\n"
    "v_mul_lo_u32 v10, v9, 10\n"
    "v_add_nc_u32 v10, v7, v10\n"
    "v_sub_co_u32 v12, vcc_lo, v4, v6\n"
    "v_sub_co_ci_u32 v13, vcc_lo, v5, v10, vcc_lo\n"
    "v_sub_co_u32 v14, vcc_lo, v12, 10\n"
    "v_subrev_co_ci_u32 v15, vcc_lo, 0, v13, vcc_lo\n"
    "v_cmp_lt_u32 vcc_lo, 9, v14\n"
    "v_cmp_eq_u32 s4, 0, v13\n"
    "v_cndmask_b32 v18, 0, -1, vcc_lo\n"
    "v_cmp_lt_u32 vcc_lo, 9, v12\n"
    "v_cndmask_b32 v17, 0, -1, vcc_lo\n"
    "v_cmp_eq_u32 vcc_lo, 0, v15\n"
    "v_cndmask_b32 v17, -1, v17, s4\n"
    "v_cndmask_b32 v18, -1, v18, vcc_lo\n"
    "v_cmp_ne_u32 s5, 0, v17\n"
    "v_cmp_ne_u32 vcc_lo, 0, v18\n";
constexpr std::string_view kQuotient =
    "v_add_co_u32 v10, s4, v8, 2\n"
    "v_add_co_ci_u32 v11, s4, 0, v9, s4\n"
    "v_add_co_u32 v17, s4, v8, 1\n"
    "v_add_co_ci_u32 v18, s4, 0, v9, s4\n"
    "v_dual_cndmask_b32 v18, v18, v11 :: v_dual_cndmask_b32 v17, v17, v10\n"
    "v_cndmask_b32 v40, v8, v17, s5\n"
    "v_cndmask_b32 v41, v9, v18, s5\n";
constexpr std::string_view kRest =
    "v_sub_co_u32 v10, s4, v14, 10\n"
    "v_subrev_co_ci_u32 v6, s4, 0, v15, s4\n"
    "v_cndmask_b32 v10, v14, v10, vcc_lo\n"
    "v_cndmask_b32 v6, v15, v6, vcc_lo\n"
    "v_cndmask_b32 v42, v12, v10, s5\n"
    "v_cndmask_b32 v43, v13, v6, s5\n";

// All that is between is gone then.
std::string whole(std::string_view results = {}) {
  std::string text = std::string(kSteps) +
                     (results.empty() ? std::string(kQuotient) + std::string(kRest) : std::string(results));
  for (int i = 6; i <= 18; ++i)
    if (i != 16) text += "v_mov_b32 v" + std::to_string(i) + ", 0\n";
  return text + "s_mov_b32 s4, 0\ns_mov_b32 s5, 0\ns_mov_b32 vcc_lo, 0\n";
}

std::string all_replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

size_t words(const std::string& text) {
  const Quotients found = quotients_of(text);
  EXPECT_EQ(found.earlier_results.empty(), found.expected_words.empty()) << text;
  return found.earlier_results.size();
}

// `reciprocal`: by lane. Whether waves left to the interpreter.
template <class Reciprocal>
bool expect_same(const std::string& text, uint64_t high, Reciprocal low, uint64_t exec = ~uint64_t{0}) {
  EnginePair pair({.exec = exec, .seed = 1});
  std::vector<uint32_t> code = interpreter::assembled(text, 32);
  code.pop_back();
  bool has_left = false;
  for (unsigned round = 0; round < 4; ++round) {
    const auto prepare = [&](interpreter::TestWave& wave) {
      const auto number = [&](unsigned lane) -> uint64_t {
        const uint64_t bits = (lane + 32 * round + 1) * 0x9e3779b97f4a7c15;
        switch (lane % 8) {
          case 0:
            return bits >> lane;
          case 1:
            return ~uint64_t{0} - (bits >> 59);
          case 2:
            return (bits >> 36) * 10 - (lane & 16 ? 1 : 0);
          case 3:
            return lane >> 3;
          default:
            return bits;
        }
      };
      wave.fill(4, [&](unsigned lane) { return static_cast<uint32_t>(number(lane)); });
      wave.fill(5, [&](unsigned lane) { return static_cast<uint32_t>(number(lane) >> 32); });
      wave.fill(16, [&](unsigned lane) { return static_cast<uint32_t>(low(lane)); });
      wave.s(9) = static_cast<uint32_t>(high);
    };
    EXPECT_EQ(pair.run(code, prepare), "") << text;
    has_left |= pair.exits(Leave::doubt) > 0;
  }
  return has_left;
}

// With the constant 10 replaced, and its reciprocal or one less.
bool expect_same_by(std::string text, uint32_t divisor, uint64_t less = 0) {
  text = all_replaced(all_replaced(text, ", 10", ", " + std::to_string(divisor)), " 9, v",
                      " " + std::to_string(divisor - 1) + ", v");
  EXPECT_EQ(words(text), 4u) << text;
  const uint64_t reciprocal = numeric::greatest_wide_reciprocal(divisor) - less;
  return expect_same(text, reciprocal >> 32, [&](unsigned) { return reciprocal; });
}

TEST(WideConstants, AreFound) {
  EXPECT_EQ(words(whole()), 4u);
  EXPECT_EQ(words(whole(kQuotient)), 2u);
  EXPECT_EQ(words(whole(kRest)), 2u);
  for (const uint32_t divisor : {10u, 3u, 7u, 12u, 641u, 1000u, 86400u, 1000000007u, 0xffffffffu})
    for (const uint64_t less : {0, 1}) EXPECT_FALSE(expect_same_by(whole(), divisor, less)) << divisor;
}

// The product of two words and a sum of 64 bits, as compilers write it.
TEST(WideConstants, WithProductsAndSumsInOne) {
  const std::string text = replaced(whole(), "v_mul_lo_u32 v10, v9, 10\nv_add_nc_u32 v10, v7, v10",
                                    "v_mad_u64_u32 v[10:11], null, v9, 10, v[7:8]");
  EXPECT_EQ(words(text), 4u);
  const uint64_t reciprocal = numeric::greatest_wide_reciprocal(10);
  EXPECT_FALSE(expect_same(text, reciprocal >> 32, [&](unsigned) { return reciprocal; }));
}

TEST(WideConstants, OfTwoWords) {
  std::string text = whole();
  for (const auto& [from, to] :
       {std::pair{"v_mul_lo_u32 v10, v9, 10\nv_add_nc_u32 v10, v7, v10",
                  "v_mul_lo_u32 v10, v9, 10\nv_mul_lo_u32 v11, v8, 0x12345\nv_add3_u32 v10, v7, v10, v11\n"
                  "v_sub_nc_u32 v19, v5, v10"},
        {"v_sub_co_ci_u32 v13, vcc_lo, v5, v10, vcc_lo\n",
         "v_subrev_co_ci_u32 v20, s4, 0x12345, v19, vcc_lo\nv_sub_co_ci_u32 v13, vcc_lo, v5, v10, vcc_lo\n"},
        {"v_subrev_co_ci_u32 v15, vcc_lo, 0, v13, vcc_lo\n",
         "v_subrev_co_ci_u32 v15, s4, 0, v20, vcc_lo\nv_subrev_co_ci_u32 v21, vcc_lo, 0x12345, v20, "
         "vcc_lo\n"},
        {"v_cmp_eq_u32 s4, 0, v13\n",
         "v_cmp_lt_u32 s4, 0x12344, v13\nv_cndmask_b32 v22, 0, -1, s4\nv_cmp_lt_u32 s4, 0x12344, v15\n"
         "v_cndmask_b32 v23, 0, -1, s4\nv_cmp_eq_u32 s4, 0x12345, v13\n"},
        {"v_cmp_eq_u32 vcc_lo, 0, v15\n", "v_cmp_eq_u32 vcc_lo, 0x12345, v15\n"},
        {"v_cndmask_b32 v17, -1, v17, s4\n", "v_cndmask_b32 v17, v22, v17, s4\n"},
        {"v_cndmask_b32 v18, -1, v18, vcc_lo\n", "v_cndmask_b32 v18, v23, v18, vcc_lo\n"},
        {"v_subrev_co_ci_u32 v6, s4, 0, v15, s4\n", "v_subrev_co_ci_u32 v6, s4, 0, v21, s4\n"}})
    text = replaced(text, from, to);
  for (int i = 19; i <= 23; ++i) text += "v_mov_b32 v" + std::to_string(i) + ", 0\n";
  EXPECT_EQ(words(text), 4u) << text;
  const uint64_t reciprocal = numeric::greatest_wide_reciprocal(0x12345'0000000a);
  EXPECT_FALSE(expect_same(text, reciprocal >> 32, [&](unsigned) { return reciprocal; }));
}

TEST(WideConstants, WithAnotherReciprocalAreTheInterpreters) {
  const uint64_t right = numeric::greatest_wide_reciprocal(10);
  for (const uint64_t wrong : {right + 1, right - 2, right ^ uint64_t{1} << 32, right + (uint64_t{1} << 63),
                               right ^ uint64_t{1} << 31, uint64_t{0}})
    EXPECT_TRUE(expect_same(whole(), wrong >> 32, [&](unsigned) { return wrong; })) << wrong;
  // In one lane, which is off or on.
  for (const unsigned lane : {3u, 21u}) {
    const auto low = [&](unsigned each) { return each == lane ? right + 1 : right; };
    EXPECT_TRUE(expect_same(whole(), right >> 32, low));
    EXPECT_FALSE(expect_same(whole(), right >> 32, low, ~(uint64_t{1} << lane)));
  }
}

TEST(WideConstants, AreNoneIfAnythingDiffers) {
  const uint64_t reciprocal = numeric::greatest_wide_reciprocal(10);
  const auto low = [&](unsigned) { return reciprocal; };
  for (const auto& [from, to] :
       {std::pair{"v_mul_hi_u32 v17, v4, v16", "v_mul_hi_u32 v17, v5, v16"},
        {"null, v5, v16, 0", "null, v5, v16, 1"},
        {"v[10:11], null, v5, s9", "v[10:11], null, v5, s8"},
        {"v_add_co_ci_u32 v7, vcc_lo, 0, v11", "v_add_co_ci_u32 v7, vcc_lo, 1, v11"},
        {"null, v8, 10, 0", "null, v8, 11, 0"},
        {"null, v8, 10, 0", "null, v8, -10, 0"},
        {"v_mul_lo_u32 v10, v9, 10", "v_mul_lo_u32 v10, v9, 12"},
        {"v14, vcc_lo, v12, 10", "v14, vcc_lo, v12, 9"},
        {"v_cmp_lt_u32 vcc_lo, 9, v14", "v_cmp_lt_u32 vcc_lo, 10, v14"},
        {"v_cmp_lt_u32 vcc_lo, 9, v12", "v_cmp_le_u32 vcc_lo, 9, v12"},
        {"v_cmp_lt_u32 vcc_lo, 9, v12", "v_cmp_gt_u32 vcc_lo, 9, v12"},
        {"v_cmp_lt_u32 vcc_lo, 9, v12", "v_cmp_lt_i32 vcc_lo, 9, v12"},
        {"v_cmp_eq_u32 s4, 0, v13", "v_cmp_eq_u32 s4, 1, v13"},
        {"v_cmp_eq_u32 s4, 0, v13", "v_mov_b32 v44, v8\nv_cmp_eq_u32 s4, 0, v13"},
        {"v_cmp_eq_u32 s4, 0, v13", "v_cmpx_lt_u32 v1, v2\nv_cmp_eq_u32 s4, 0, v13"}}) {
    const std::string text = replaced(whole(), from, to);
    EXPECT_EQ(words(text), 0u) << from << " to " << to;
    expect_same(text, reciprocal >> 32, low);
  }
  // Registers alone are looked at.
  std::string text = all_replaced(whole(), ", s9", ", 0x19999999");
  EXPECT_EQ(words(text), 0u);
  expect_same(text, 0, low);
  text = all_replaced(whole(), ", v16", ", 0x99999999");
  EXPECT_EQ(words(text), 0u);
  expect_same(text, reciprocal >> 32, low);
  // Powers of two have no such reciprocal.
  text = all_replaced(all_replaced(whole(), ", 10", ", 16"), " 9, v", " 15, v");
  EXPECT_EQ(words(text), 0u);
}

}  // namespace
}  // namespace lockstep::translator
