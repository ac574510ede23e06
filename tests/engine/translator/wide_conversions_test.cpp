// Doubles of 64-bit integers and words of doubles are converted as a whole only if all of their steps are
// there, and nobody looks at what is between.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/translator/quotients.h"
#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

// v[4:5] to v[40:41], in the registers that compilers take.
constexpr std::string_view kFromUnsigned =
    "v_cvt_f64_u32 v[6:7], v5\n"
    "v_cvt_f64_u32 v[4:5], v4\n"
    "v_ldexp_f64 v[6:7], v[6:7], 32\n"
    "v_add_f64 v[40:41], v[6:7], v[4:5]\n"
    "v_mov_b32 v4, 0\nv_mov_b32 v5, 0\nv_mov_b32 v6, 0\nv_mov_b32 v7, 0\n";
constexpr std::string_view kToUnsigned =
    "v_ldexp_f64 v[6:7], v[4:5], 0xffffffe0\n"
    "v_floor_f64 v[6:7], v[6:7]\n"
    "v_fma_f64 v[8:9], 0xc1f00000, v[6:7], v[4:5]\n"
    "v_cvt_u32_f64 v41, v[6:7]\n"
    "v_cvt_u32_f64 v40, v[8:9]\n"
    "v_mov_b32 v6, 0\nv_mov_b32 v7, 0\nv_mov_b32 v8, 0\nv_mov_b32 v9, 0\n";

std::string to_signed() {
  return replaced(kToUnsigned, "v_cvt_u32_f64 v41", "v_cvt_i32_f64 v41");
}

size_t found(std::string_view text) {
  const Quotients result = quotients_of(text);
  EXPECT_EQ(result.numbers_of_words.empty(), result.taken_words.empty());
  return result.numbers_of_words.size() + result.earlier_results.size();
}

void expect_same(std::string_view text, bool may_leave = false) {
  const std::array<double, 16> numbers = {
      0.0,    -0.0,    0.5,    -0.5,   -0x1p-1074, 0x1p32,    0x1.fffffffffp32,  -0x1p32,
      0x1p63, -0x1p63, 0x1p64, -1e300, INFINITY,   -INFINITY, 123456789012345.7, -3.9};
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x0f0f33f1}})
    for (unsigned round = 0; round < 4; ++round) {
      EnginePair pair({.exec = exec, .seed = round + 1});
      std::vector<uint32_t> code = interpreter::assembled(std::string(text), 32);
      code.pop_back();
      const auto prepare = [&](interpreter::TestWave& wave) {
        const auto number = [&](unsigned lane) -> uint64_t {
          const uint64_t random = (lane + 32 * round + 1) * 0x9e3779b97f4a7c15;
          if (round == 0) return std::bit_cast<uint64_t>(numbers[lane % 16]);
          if (round == 1) return lane == 5 ? 0x7ff4000012345678 : random;  // a NaN
          return random >> lane;
        };
        wave.fill(4, [&](unsigned lane) { return static_cast<uint32_t>(number(lane)); });
        wave.fill(5, [&](unsigned lane) { return static_cast<uint32_t>(number(lane) >> 32); });
      };
      EXPECT_EQ(pair.run(code, prepare), "") << text;
      if (!may_leave) EXPECT_EQ(pair.exits(Leave::doubt), 0u) << text;
    }
}

TEST(WideConversions, AreFound) {
  EXPECT_EQ(found(kFromUnsigned), 1u);
  EXPECT_EQ(found(replaced(kFromUnsigned, "u32 v[6:7], v5", "i32 v[6:7], v5")), 1u);
  EXPECT_EQ(found(kToUnsigned), 2u);
  EXPECT_EQ(found(to_signed()), 2u);
  expect_same(kFromUnsigned);
  expect_same(replaced(kFromUnsigned, "u32 v[6:7], v5", "i32 v[6:7], v5"));
  expect_same(kToUnsigned);
  expect_same(to_signed());
  // Addends and factors the other way round, one word alone, results in the place of the operand.
  for (const std::string& text :
       {replaced(kFromUnsigned, "v[6:7], v[4:5]\n", "v[4:5], v[6:7]\n"),
        replaced(kToUnsigned, "0xc1f00000, v[6:7]", "v[6:7], 0xc1f00000"),
        replaced(kToUnsigned, "v_cvt_u32_f64 v41, v[6:7]\n", ""),
        replaced(to_signed(), "v_fma_f64 v[8:9], 0xc1f00000, v[6:7], v[4:5]\n", "v_mov_b32 v8, 0\n"),
        replaced(replaced(kToUnsigned, "v41, v[6:7]", "v5, v[6:7]"), "v40, v[8:9]", "v4, v[8:9]")}) {
    EXPECT_GT(found(text), 0u) << text;
    expect_same(text, true);
  }
}

TEST(WideConversions, AreNoneIfAnythingDiffers) {
  for (const auto& [from, to] :
       {std::pair{"v[6:7], 32", "v[6:7], 31"},
        {"v[6:7], 32", "v[6:7], v1"},
        {"u32 v[4:5], v4", "i32 v[4:5], v4"},
        {"v_add_f64 v[40:41], v[6:7]", "v_add_f64 v[40:41], -v[6:7]"},
        {"v_add_f64 v[40:41], v[6:7], v[4:5]", "v_add_f64 v[40:41], v[6:7], v[4:5] mul:2"},
        {"v_add_f64 v[40:41], v[6:7], v[4:5]", "v_mul_f64 v[40:41], v[6:7], v[4:5]"},
        {"v_add_f64 v[40:41]", "v_mov_b32 v42, v6\nv_add_f64 v[40:41]"},
        {"v_add_f64 v[40:41]", "v_cmpx_lt_u32 v1, v2\nv_add_f64 v[40:41]"}}) {
    const std::string text = replaced(kFromUnsigned, from, to);
    EXPECT_EQ(found(text), 0u) << text;
    expect_same(text, true);
  }
  for (const auto& [from, to] : {std::pair{"0xffffffe0", "0xffffffe1"},
                                 {"v[4:5], 0xffffffe0", "-v[4:5], 0xffffffe0"},
                                 {"v_floor_f64", "v_trunc_f64"},
                                 {"v_floor_f64 v[6:7], v[6:7]", "v_floor_f64 v[6:7], |v[6:7]|"},
                                 {"v_cvt_u32_f64 v41", "v_mov_b32 v42, v7\nv_cvt_u32_f64 v41"},
                                 {"v_cvt_u32_f64 v41", "v_cmpx_lt_u32 v1, v2\nv_cvt_u32_f64 v41"}}) {
    const std::string text = replaced(kToUnsigned, from, to);
    EXPECT_EQ(found(text), 0u) << text;
    expect_same(text, true);
  }
  // What the low word alone is made of keeps the others.
  for (const auto& [from, to] : {std::pair{"0xc1f00000", "0xc1e00000"},
                                 {"v[6:7], v[4:5]\n", "v[6:7], v[2:3]\n"},
                                 {"v[6:7], v[4:5]\n", "v[6:7], -v[4:5]\n"},
                                 {"v_cvt_u32_f64 v40", "v_cvt_i32_f64 v40"}}) {
    const std::string text = replaced(kToUnsigned, from, to);
    EXPECT_EQ(found(text), 0u) << text;
    expect_same(text, true);
  }
}

}  // namespace
}  // namespace lockstep::translator
