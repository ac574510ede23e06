// A root of a double is the host's from its scaling on only if all steps are there, and nobody looks at what
// is between.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "engine/translator/quotients.h"
#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

// Of v[2:3] to v[16:17].
constexpr std::string_view kRoot =
    "v_cmp_gt_f64 s4, 0x10000000, v[2:3]\n"
    "v_cndmask_b32 v4, 0, 1, s4\n"
    "v_lshlrev_b32 v4, 8, v4\n"
    "v_ldexp_f64 v[6:7], v[2:3], v4\n"
    "v_rsq_f64 v[8:9], v[6:7]\n"
    "v_mul_f64 v[10:11], v[6:7], v[8:9]\n"
    "v_mul_f64 v[8:9], v[8:9], 0.5\n"
    "v_fma_f64 v[12:13], -v[8:9], v[10:11], 0.5\n"
    "v_fma_f64 v[10:11], v[10:11], v[12:13], v[10:11]\n"
    "v_fma_f64 v[8:9], v[8:9], v[12:13], v[8:9]\n"
    "v_fma_f64 v[12:13], -v[10:11], v[10:11], v[6:7]\n"
    "v_fma_f64 v[10:11], v[12:13], v[8:9], v[10:11]\n"
    "v_fma_f64 v[12:13], -v[10:11], v[10:11], v[6:7]\n"
    "v_fma_f64 v[8:9], v[12:13], v[8:9], v[10:11]\n"
    "v_cndmask_b32 v14, 0, 0xffffff80, s4\n"
    "v_ldexp_f64 v[8:9], v[8:9], v14\n"
    "v_cmp_class_f64 s6, v[6:7], 0x260\n"
    "v_cndmask_b32 v17, v9, v7, s6\n"
    "v_cndmask_b32 v16, v8, v6, s6\n";
// All that is between is gone then.
constexpr std::string_view kEnd =
    "v_mov_b32 v4, 0\nv_mov_b32 v6, 0\nv_mov_b32 v7, 0\nv_mov_b32 v8, 0\nv_mov_b32 v9, 0\nv_mov_b32 v10, 0\n"
    "v_mov_b32 v11, 0\nv_mov_b32 v12, 0\nv_mov_b32 v13, 0\nv_mov_b32 v14, 0\ns_mov_b32 s4, 0\n"
    "s_mov_b32 s5, 0\ns_mov_b32 s6, 0\ns_mov_b32 s7, 0\ns_mov_b32 vcc_lo, 0\n";

std::string whole(std::string_view steps) {
  return std::string(steps) + std::string(kEnd);
}

// Of ordinary numbers, and of each kind of number beside them or alone.
void expect_same(const std::string& text, unsigned wave_size = 32) {
  static constexpr uint64_t kOperands[] = {
      0,
      0x8000000000000000,
      1,
      0x8000000000000001,
      0x000fffffffffffff,
      0x0010000000000000,
      0x0fffffffffffffff,
      0x1000000000000000,
      0x8fffffffffffffff,
      0x3ff0000000000000,
      0x400921fb54442d18,
      0x7fefffffffffffff,
      0x7ff0000000000000,
      0xfff0000000000000,
      0xbff0000000000000,
      0x7ff8000012345678,
      0xfff4000012345678,
  };
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x0f0f'33ff}}) {
    EnginePair pair({.wave_size = wave_size, .exec = exec});
    std::vector<uint32_t> code = interpreter::assembled(text, wave_size);
    code.pop_back();
    EXPECT_EQ(pair.run(code), "") << text;
    for (unsigned turn = 0; turn < 2 * std::size(kOperands); ++turn) {
      const auto set_operands = [&](interpreter::TestWave& wave) {
        for (unsigned lane = 0; lane < wave_size; ++lane) {
          const bool is_ordinary = turn % 2 == 0 && lane % 3 != 0;
          const uint64_t value = is_ordinary ? std::bit_cast<uint64_t>(0.37 * (turn * 64 + lane))
                                             : kOperands[(turn / 2 + lane / 16) % std::size(kOperands)];
          wave.v(2, lane) = static_cast<uint32_t>(value);
          wave.v(3, lane) = static_cast<uint32_t>(value >> 32);
        }
      };
      EXPECT_EQ(pair.run(code, set_operands), "") << text << turn;
    }
  }
}

TEST(WholeRoots, AreFound) {
  const std::string unshifted =
      replaced(replaced(kRoot, "v_cndmask_b32 v4, 0, 1, s4", "v_cndmask_b32 v4, 0, 0x100, s4"),
               "v_lshlrev_b32 v4, 8, v4", "v_mov_b32 v21, v4");
  const std::string alone = replaced(replaced(kRoot, "v_cndmask_b32 v4, 0, 1, s4", "v_mov_b32 v4, 0x100"),
                                     "v_lshlrev_b32 v4, 8, v4", "v_cndmask_b32 v4, 0, 0x100, s4");
  const std::string reversed =
      replaced(kRoot, "v_cmp_gt_f64 s4, 0x10000000, v[2:3]", "v_cmp_lt_f64 s4, v[2:3], 0x10000000");
  const std::string over_the_operand =
      replaced(replaced(replaced(kRoot, "v[6:7], v[2:3], v4", "v[6:7], v[2:3], v4\nv_mov_b32 v2, 0"),
                        "v17, v9", "v3, v9"),
               "v16, v8", "v2, v8");
  const std::string in_a_pair = replaced(
      replaced(replaced(kRoot, "class_f64 s6", "class_f64 vcc_lo"), "v_cndmask_b32 v17, v9, v7, s6\n", ""),
      "v_cndmask_b32 v16, v8, v6, s6", "v_dual_cndmask_b32 v17, v9, v7 :: v_dual_cndmask_b32 v16, v8, v6");
  const std::string one_word_twice = replaced(kRoot, "v16, v8, v6", "v16, v9, v7");
  for (const std::string& steps :
       {std::string(kRoot), alone, reversed, over_the_operand, in_a_pair, one_word_twice}) {
    const Quotients found = quotients_of(whole(steps));
    EXPECT_EQ(found.whole_roots.size(), 1u) << steps;
    EXPECT_EQ(found.roots.size(), 0u) << steps;
    expect_same(whole(steps));
  }
  EXPECT_EQ(quotients_of(whole(unshifted)).whole_roots.size(), 0u);
  expect_same(whole(unshifted));
}

TEST(WholeRoots, InWavesOf64) {
  std::string steps(kRoot);
  for (const auto& [from, to] : {std::pair{"s4, 0x1", "s[4:5], 0x1"},
                                 {"0, 1, s4", "0, 1, s[4:5]"},
                                 {"0xffffff80, s4", "0xffffff80, s[4:5]"},
                                 {"s6, v[6:7]", "s[6:7], v[6:7]"},
                                 {"v9, v7, s6", "v9, v7, s[6:7]"},
                                 {"v8, v6, s6", "v8, v6, s[6:7]"}})
    steps = replaced(steps, from, to);
  EXPECT_EQ(quotients_of(whole(steps), 64).whole_roots.size(), 1u);
  expect_same(whole(steps), 64);
}

TEST(WholeRoots, NearMisses) {
  struct Change {
    std::string_view from, to;
  };
  for (const Change& change : {
           Change{"s4, 0x10000000", "s4, 0x10100000"},
           Change{"v_cmp_gt_f64", "v_cmp_ge_f64"},
           Change{"0x10000000, v[2:3]", "0x10000000, |v[2:3]|"},
           Change{"0x10000000, v[2:3]", "0x10000000, v[18:19]"},
           Change{"0, 1, s4", "0, 2, s4"},
           Change{"0, 1, s4", "1, 1, s4"},
           Change{"0, 1, s4", "0, 1, s5"},
           Change{"v4, 8, v4", "v4, 7, v4"},
           Change{"v[6:7], v[2:3], v4", "v[6:7], -v[2:3], v4"},
           Change{"v[6:7], v[2:3], v4", "v[6:7], v[2:3], v4 mul:2"},
           Change{"0, 0xffffff80, s4", "0, 0xffffff81, s4"},
           Change{"0, 0xffffff80, s4", "1, 0xffffff80, s4"},
           Change{"0, 0xffffff80, s4", "0, 0xffffff80, s5"},
           Change{"v[8:9], v[8:9], v14", "v[8:9], -v[8:9], v14"},
           Change{"v[8:9], v[8:9], v14", "v[8:9], v[10:11], v14"},
           Change{"v[6:7], 0x260", "v[6:7], 0x261"},
           Change{"s6, v[6:7], 0x260", "s6, v[2:3], 0x260"},
           Change{"v17, v9, v7", "v17, v7, v9"},
           Change{"v17, v9, v7", "v17, v9, v6"},
           Change{"v17, v9, v7", "v17, v9, v9"},
           Change{"v17, v9, v7", "v17, v9, v3"},
           Change{"v16, v8, v6, s6", "v16, v8, v6, s4"},
           Change{"v16, v8, v6, s6", "v16, v8, -v6, s6"},
           Change{"v_cndmask_b32 v16, v8, v6, s6", "v_mov_b32 v16, v8"},
           Change{"v_cndmask_b32 v17", "s_mov_b32 exec_lo, 0xf0f\nv_cndmask_b32 v17"},
       }) {
    const std::string text = whole(replaced(kRoot, change.from, change.to));
    EXPECT_EQ(quotients_of(text).whole_roots.size(), 0u) << text;
    expect_same(text);
  }
}

TEST(WholeRoots, OfNegatedOperandsAreNone) {
  const std::string text = whole(replaced(replaced(kRoot, "0x10000000, v[2:3]", "0x10000000, -v[2:3]"),
                                          "v[6:7], v[2:3], v4", "v[6:7], -v[2:3], v4"));
  EXPECT_EQ(quotients_of(text).whole_roots.size(), 0u);
  expect_same(text);
}

// The steps on registers from v18 on, and masks from s14 on.
std::string of_other_registers() {
  std::string result;
  for (size_t i = 0; i < kRoot.size(); ++i) {
    result += kRoot[i];
    const bool is_register = kRoot[i] == 's' || kRoot[i] == 'v' || kRoot[i] == '[' || kRoot[i] == ':';
    if (!is_register || i + 1 == kRoot.size() || kRoot[i + 1] < '0' || kRoot[i + 1] > '9') continue;
    unsigned number = 0;
    for (; kRoot[i + 1] >= '0' && kRoot[i + 1] <= '9'; ++i)
      number = number * 10 + unsigned(kRoot[i + 1] - '0');
    result += std::to_string(number + (result.back() == 's' ? 10 : 16));
  }
  return result;
}

TEST(WholeRoots, TwoAtATime) {
  const std::string other = of_other_registers();
  const std::string text = whole(other + std::string(kRoot));
  EXPECT_EQ(quotients_of(text).whole_roots.size(), 2u) << text;
  expect_same(text);
  // The other one's root is scaled.
  const std::string apart = replaced(
      replaced(replaced(other, "v[24:25], v[24:25], v30", "v[34:35], v[24:25], v30"), "v33, v25", "v33, v35"),
      "v32, v24", "v32, v34");
  EXPECT_EQ(quotients_of(whole(apart + std::string(kRoot))).whole_roots.size(), 2u);
  const std::string crossed = whole(apart + replaced(kRoot, "v[8:9], v[8:9], v14", "v[8:9], v[24:25], v14"));
  EXPECT_EQ(quotients_of(crossed).whole_roots.size(), 0u) << crossed;
  expect_same(crossed);
}

TEST(WholeRoots, StepsThatAreNeeded) {
  for (const unsigned number : {4u, 6u, 7u, 8u, 9u, 14u}) {
    const std::string text = whole(std::string(kRoot) + "v_mov_b32 v30, v" + std::to_string(number) + "\n");
    EXPECT_EQ(quotients_of(text).whole_roots.size(), 0u) << text;
    expect_same(text);
    RegisterSet live;
    live.set(number);
    EXPECT_EQ(quotients_of(kRoot, 32, live).whole_roots.size(), 0u) << number;
  }
  for (const std::string_view mask : {"s4", "s6"}) {
    const std::string text =
        whole(std::string(kRoot) + "v_cndmask_b32 v30, v0, v1, " + std::string(mask) + "\n");
    EXPECT_EQ(quotients_of(text).whole_roots.size(), 0u) << text;
    expect_same(text);
  }
}

}  // namespace
}  // namespace lockstep::translator
