// Nested branches: writes in them keep lanes that are off only where code behind them reads these.
#include "engine/translator/lane_regions.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/translator/liveness.h"
#include "tests/engine/interpreter/random_instruction.h"
#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

using interpreter::Random;

// What the first write of v9 keeps.
bool is_kept(const std::string& text, unsigned wave_size = 32) {
  const Routine routine = routine_of(text, wave_size);
  const Facts facts = analyse(routine);
  for (size_t n = 0; n < routine.nodes.size(); ++n)
    if (facts.nodes[n].effects.writes[9]) return facts.nodes[n].merged[9];
  ADD_FAILURE() << text;
  return false;
}

const std::string kGuard = "v_cmp_lt_u32 vcc_lo, 7, v1\ns_and_saveexec_b32 s0, vcc_lo\n";
const std::string kWrite = "v_mov_b32 v9, v2\n", kRead = "global_store_b32 v0, v9, s[4:5]\n";
const std::string kInner =
    "v_cmp_lt_u32 vcc_lo, 3, v3\ns_and_saveexec_b32 s1, vcc_lo\ns_cbranch_execz inner\nv_add_nc_u32 v2, 3, "
    "v2\n"
    "inner:\ns_or_b32 exec_lo, exec_lo, s1\n";
const std::string kEnd = "s_or_b32 exec_lo, exec_lo, s0\n";

TEST(LaneRegions, LanesOfABranchComeOnAgainInIt) {
  EXPECT_FALSE(is_kept(kGuard + kWrite + kInner + kRead + kEnd));
  EXPECT_FALSE(is_kept(kGuard + "s_cbranch_execz end\n" + kWrite + kInner + kRead + "end:\n" + kEnd));
  // By a comparison of all, in a loop that lanes leave one by one, and twice nested.
  EXPECT_FALSE(is_kept("s_mov_b32 s0, exec_lo\nv_cmpx_lt_u32 7, v1\n" + kWrite + kInner + kRead + kEnd));
  EXPECT_FALSE(is_kept(kGuard + "s_mov_b32 s2, 0\n" + kWrite +
                       "loop:\nv_add_nc_u32 v4, -1, v4\nv_cmp_gt_i32 vcc_lo, 1, v4\ns_or_b32 s2, vcc_lo, s2\n"
                       "s_and_not1_b32 exec_lo, exec_lo, s2\ns_cbranch_execnz loop\n"
                       "s_or_b32 exec_lo, exec_lo, s2\n" +
                       kRead + kEnd));
  EXPECT_FALSE(is_kept(kGuard + "v_cmp_lt_u32 vcc_lo, 9, v2\ns_and_saveexec_b32 s2, vcc_lo\n" + kWrite +
                       kInner + kRead + "s_or_b32 exec_lo, exec_lo, s2\n" + kEnd));
  const std::string wide = "v_cmp_lt_u32 vcc, 7, v1\ns_and_saveexec_b64 s[0:1], vcc\n" + kWrite +
                           "v_cmp_lt_u32 vcc, 3, v3\ns_and_saveexec_b64 s[2:3], vcc\nv_add_nc_u32 v2, 3, v2\n"
                           "s_or_b64 exec, exec, s[2:3]\n" +
                           kRead + "s_or_b64 exec, exec, s[0:1]\n";
  EXPECT_FALSE(is_kept(wide, 64));
  EXPECT_TRUE(is_kept(replaced(wide, "s_or_b64 exec, exec, s[2:3]", "s_or_b32 exec_lo, exec_lo, s3"), 64));
}

TEST(LaneRegions, WhatOthersReadIsKept) {
  // Behind the branch, or in its other half, where they are on.
  EXPECT_TRUE(is_kept(kGuard + kWrite + kInner + kRead + kEnd + kRead));
  const std::string halves = "s_xor_b32 s0, exec_lo, s0\n" + kWrite + kInner + kRead +
                             "s_or_saveexec_b32 s0, s0\ns_xor_b32 exec_lo, exec_lo, s0\n";
  EXPECT_TRUE(is_kept(kGuard + halves + kRead + kEnd));
  EXPECT_FALSE(is_kept(kGuard + halves + "v_mov_b32 v9, v3\n" + kRead + kEnd));
  // By a lane's number, and where another mask than the one that was saved comes on.
  EXPECT_TRUE(is_kept(kGuard + kWrite + kInner + kRead + "v_readlane_b32 s9, v9, 3\n" + kEnd));
  EXPECT_TRUE(is_kept(kGuard + kWrite + replaced(kInner, "exec_lo, s1\n", "exec_lo, s6\n") + kRead + kEnd));
  EXPECT_TRUE(is_kept(kGuard + kWrite + kInner + "s_mov_b32 exec_lo, s0\n" + kRead + kEnd));
  // What was saved is written before.
  EXPECT_TRUE(is_kept(kGuard + kWrite +
                      replaced(kInner, "v_add_nc_u32 v2", "s_mov_b32 s1, s7\nv_add_nc_u32 v2") + kRead +
                      kEnd));
  // Control comes from elsewhere, too.
  EXPECT_TRUE(is_kept("s_mov_b32 s0, 0\ns_cbranch_scc1 inside\n" + kGuard + kWrite + "inside:\n" + kInner +
                      kRead + kEnd));
  // Lanes of another round.
  EXPECT_TRUE(is_kept("v_mov_b32 v8, 0\nround:\nv_add_nc_u32 v8, v9, v8\n" + kGuard + kWrite + kInner + kEnd +
                      "s_sub_u32 s8, s8, 1\ns_cbranch_scc0 round\nv_mov_b32 v9, v8\n" + kRead));
}

// Branches with one way and two, and loops, of which lanes leave some in the middle, in one another, of few
// registers, of which each is read.
class Nest {
 public:
  Nest(unsigned wave_size, uint64_t seed) : random_(seed), is_wide_(wave_size == 64) {}

  std::string text() { return statements(0); }

 private:
  unsigned below(unsigned count) { return static_cast<unsigned>(random_() % count); }
  std::string number(unsigned value) const { return std::to_string(value); }
  std::string any() { return "v" + number(2 + below(5)); }
  std::string size() const { return is_wide_ ? "b64 " : "b32 "; }
  std::string exec() const { return is_wide_ ? "exec" : "exec_lo"; }
  std::string vcc() const { return is_wide_ ? "vcc" : "vcc_lo"; }
  std::string saved(unsigned depth) const {
    const unsigned first = 20 + 4 * depth;
    return is_wide_ ? "s[" + number(first) + ":" + number(first + 1) + "]" : "s" + number(first);
  }
  std::string left(unsigned depth) const {
    const unsigned first = 22 + 4 * depth;
    return is_wide_ ? "s[" + number(first) + ":" + number(first + 1) + "]" : "s" + number(first);
  }
  std::string marked(unsigned depth) const {
    const unsigned first = 40 + 2 * depth;
    return is_wide_ ? "s[" + number(first) + ":" + number(first + 1) + "]" : "s" + number(first);
  }
  std::string condition() {
    return "v_xor_b32 v7, " + any() + ", " + any() + "\nv_and_b32 v7, " + number(1 + below(7)) +
           ", v7\nv_cmp_lt_u32 " + vcc() + ", " + number(below(3)) + ", v7\n";
  }

  std::string statements(unsigned depth) {
    std::string text;
    for (unsigned count = 2 + below(3); count-- > 0;) {
      const unsigned kind = below(8);
      if (kind < 4 || depth == 4)
        text += assignment();
      else if (kind == 4)
        text += loop(depth);
      else
        text += branch(depth);
    }
    return text;
  }

  std::string assignment() {
    switch (below(6)) {
      case 0:
        return "v_mov_b32 " + any() + ", " + any() + "\n";
      case 1:
        return "v_mad_u32_u24 " + any() + ", " + any() + ", 5, " + any() + "\n";
      case 2:
        if (below(8) != 0) return "v_mov_b32 " + any() + ", " + number(below(64)) + "\n";
        return "v_readlane_b32 s18, " + any() + ", " + number(below(32)) + "\nv_mov_b32 " + any() + ", s18\n";
      default:
        return "v_add_nc_u32 " + any() + ", " + any() + ", " + any() + "\n";
    }
  }

  std::string branch(unsigned depth) {
    const std::string label = "label" + number(labels_++);
    const std::string leave = below(2) ? "s_cbranch_execz " + label + "\n" : "";
    std::string text;
    if (below(3) == 0) {
      text = "s_mov_" + size() + saved(depth) + ", " + exec() + "\nv_cmpx_gt_u32 " + number(1u << below(8)) +
             ", " + any() + "\n";
      return text + leave + statements(depth + 1) + label + ":\n" + end(depth);
    }
    text = condition() + "s_and_saveexec_" + size() + saved(depth) + ", " + vcc() + "\n";
    if (below(2)) return text + leave + statements(depth + 1) + label + ":\n" + end(depth);
    text += "s_xor_" + size() + saved(depth) + ", " + exec() + ", " + saved(depth) + "\n" + leave;
    text += statements(depth + 1) + label + ":\n";
    text += "s_or_saveexec_" + size() + saved(depth) + ", " + saved(depth) + "\ns_xor_" + size() + exec() +
            ", " + exec() + ", " + saved(depth) + "\n";
    return text + statements(depth + 1) + end(depth);
  }

  std::string loop(unsigned depth) {
    const std::string label = "label" + number(labels_++), count = "v" + number(10 + depth);
    std::string text = "v_and_b32 " + count + ", 3, " + any() + "\ns_mov_" + size() + left(depth) + ", 0\n";
    if (below(2)) return text + loop_with_break(depth, label, count);
    text += label + ":\n" + statements(depth + 1);
    text += "v_add_nc_u32 " + count + ", -1, " + count + "\nv_cmp_gt_i32 " + vcc() + ", 1, " + count + "\n";
    text += "s_or_" + size() + left(depth) + ", " + vcc() + ", " + left(depth) + "\ns_and_not1_" + size() +
            exec() + ", " + exec() + ", " + left(depth) + "\n";
    return text + "s_cbranch_execnz " + label + "\ns_or_" + size() + exec() + ", " + exec() + ", " +
           left(depth) + "\n";
  }

  // The lanes that do not go on are marked before the condition, the others' marks are made behind it.
  std::string loop_with_break(unsigned depth, const std::string& label, const std::string& count) {
    const std::string join = "label" + number(labels_++), size_of = size(), on = exec();
    std::string text = "s_mov_" + size_of + marked(depth) + ", 0\n" + label + ":\n" + statements(depth + 1);
    text += "s_or_" + size_of + marked(depth) + ", " + marked(depth) + ", " + on + "\n" + condition();
    text += "s_and_saveexec_" + size_of + saved(depth) + ", " + vcc() + "\ns_cbranch_execz " + join + "\n";
    text += statements(depth + 1) + "v_add_nc_u32 " + count + ", -1, " + count + "\nv_cmp_gt_i32 " + vcc() +
            ", 1, " + count + "\n";
    text += "s_and_not1_" + size_of + marked(depth) + ", " + marked(depth) + ", " + on + "\n";
    text += "s_or_" + size_of + marked(depth) + ", " + marked(depth) + ", " + vcc() + "\n" + join + ":\n";
    text += end(depth) + "s_and_" + size_of + vcc() + ", " + on + ", " + marked(depth) + "\n";
    text += "s_or_" + size_of + left(depth) + ", " + vcc() + ", " + left(depth) + "\n";
    text += "s_and_not1_" + size_of + on + ", " + on + ", " + left(depth) + "\n";
    return text + "s_cbranch_execnz " + label + "\ns_or_" + size_of + on + ", " + on + ", " + left(depth) +
           "\n";
  }

  std::string end(unsigned depth) const {
    return "s_or_" + size() + exec() + ", " + exec() + ", " + saved(depth) + "\n";
  }

  Random random_;
  const bool is_wide_;
  unsigned labels_ = 0;
};

TEST(LaneRegions, RandomNestsAreTheInterpreters) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const unsigned wave_size = seed % 3 == 0 ? 64 : 32;
    const std::string nest = Nest(wave_size, seed).text();
    // All that was computed goes to LDS, then the wave ends, and no register matters.
    const std::string text =
        nest + "v_lshlrev_b32 v21, 5, v0\nds_store_b128 v21, v[2:5]\nds_store_b32 v21, v6 offset:16\n";
    for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x0ff0'f00f'33ff'0ff1}}) {
      EnginePair engines({.wave_size = wave_size, .exec = exec, .seed = seed});
      EXPECT_EQ(
          engines.run(interpreter::assembled(text, wave_size),
                      [](interpreter::TestWave& wave) { wave.fill(0, [](unsigned lane) { return lane; }); }),
          "")
          << seed;
    }
  }
}

}  // namespace
}  // namespace lockstep::translator
