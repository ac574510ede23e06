// Loops that lanes leave in the middle of a round, as by `break`: what they read behind it, and what the
// others' writes keep of theirs.
#include "engine/translator/lanes_in_loops.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "engine/translator/liveness.h"
#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

// What the write of v9 in the loop keeps.
bool is_kept(const std::string& text, unsigned wave_size = 32) {
  const Routine routine = routine_of(text, wave_size);
  const Facts facts = analyse(routine);
  for (size_t n = 0; n < routine.nodes.size(); ++n)
    if (facts.nodes[n].effects.writes[9] && facts.nodes[n].effects.reads[9]) return facts.nodes[n].merged[9];
  ADD_FAILURE() << text;
  return false;
}

void expect_same(const std::string& text, unsigned wave_size = 32) {
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x0ff0'f00f'33ff'0ff0}})
    for (uint64_t seed = 1; seed <= 4; ++seed)
      EXPECT_EQ(compare(text, {.wave_size = wave_size, .exec = exec, .seed = seed}), "") << text;
}

const std::string kBegin = "v_and_b32 v9, 7, v3\nv_and_b32 v2, 3, v2\ns_mov_b32 s4, 0\ns_mov_b32 s5, 0\n";
// A lane leaves where its v4 is 9, or its v9 more than 40.
const std::string kRound =
    "round:\nv_add_nc_u32 v4, v9, v2\ns_or_b32 s5, s5, exec_lo\nv_cmp_ne_u32 vcc_lo, 9, v4\n"
    "s_and_saveexec_b32 s9, vcc_lo\ns_cbranch_execz join\ninside:\nv_add_nc_u32 v9, 2, v9\n"
    "v_cmp_lt_u32 vcc_lo, 40, v9\ns_and_not1_b32 s0, s5, exec_lo\ns_and_b32 s5, vcc_lo, exec_lo\n"
    "s_or_b32 s5, s0, s5\njoin:\ns_or_b32 exec_lo, exec_lo, s9\ns_and_b32 s0, exec_lo, s5\n"
    "s_or_b32 s4, s0, s4\ns_and_not1_b32 exec_lo, exec_lo, s4\ns_cbranch_execnz round\n"
    "s_or_b32 exec_lo, exec_lo, s4\n";
const std::string kLoop = kBegin + kRound;
// No register matters behind it, but what is stored.
std::string storing(unsigned number) {
  return "v_lshlrev_b32 v0, 2, v0\nv_and_b32 v0, 0xfc, v0\nds_store_b32 v0, v" + std::to_string(number) +
         "\ns_endpgm\n";
}

std::string wide(std::string text) {
  for (const auto& [from, to] : {std::pair{"vcc_lo", "vcc"},
                                 {"exec_lo", "exec"},
                                 {"saveexec_b32", "saveexec_b64"},
                                 {"s0", "s[10:11]"},
                                 {"s4", "s[12:13]"},
                                 {"s5", "s[14:15]"},
                                 {"s9", "s[18:19]"},
                                 {"s_or_b32", "s_or_b64"},
                                 {"s_and_b32", "s_and_b64"},
                                 {"s_and_not1_b32", "s_and_not1_b64"},
                                 {"s_mov_b32", "s_mov_b64"}}) {
    const std::string was = from;
    for (size_t at = 0; (at = text.find(was, at)) != std::string::npos; at += std::string(to).size())
      text.replace(at, was.size(), to);
  }
  return text;
}

TEST(LanesInLoops, ThatLeaveReadNothingMore) {
  EXPECT_FALSE(is_kept(kLoop + storing(4)));
  expect_same(kLoop + storing(4));
  EXPECT_FALSE(is_kept(wide(kLoop) + storing(4), 64));
  expect_same(wide(kLoop) + storing(4), 64);
  // In a loop around it, too, whose rounds begin with another number.
  const std::string around =
      "v_mov_b32 v8, 0\ns_mov_b32 s20, 3\nagain:\n" + kLoop +
      "v_add_nc_u32 v8, v8, v4\nv_mov_b32 v9, v8\ns_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, "
      "0\ns_cbranch_scc1 again\n";
  EXPECT_FALSE(is_kept(around + storing(8)));
  expect_same(around + storing(8));
  // Of lanes that are off nothing comes on by what others compare, and where one is on the wave goes on.
  const std::string join = "s_and_b32 s0, exec_lo, s5\n", step = "v_add_nc_u32 v9, 2, v9\n",
                    read = "v_add_nc_u32 v3, v3, v9\n", out = storing(4) + "out:\n" + storing(9);
  for (const std::string& text :
       {replaced(kLoop, step,
                 step + "v_cmp_lt_u32 vcc_lo, 3, v2\ns_or_b32 exec_lo, exec_lo, vcc_lo\n" + read) +
            storing(4),
        replaced(kLoop, step, step + "v_cmpx_lt_u32 3, v2\n" + read) + storing(4),
        replaced(kLoop, join, "s_cbranch_execz out\n" + join) + out,
        replaced(kLoop, join, "s_cbranch_execnz on\ns_branch out\non:\n" + join) + out}) {
    EXPECT_FALSE(is_kept(text)) << text;
    expect_same(text);
  }
  // A compiler puts the round's end before its begin.
  const size_t at_join = kRound.find("join:"), end = kRound.find("s_cbranch_execnz round");
  const std::string turned = kBegin + "s_branch round\n" + kRound.substr(at_join, end - at_join) +
                             "s_cbranch_execz out\n" + kRound.substr(0, at_join) +
                             "s_branch join\nout:\ns_or_b32 exec_lo, exec_lo, s4\n";
  EXPECT_FALSE(is_kept(turned + storing(4)));
  expect_same(turned + storing(4));
  // Where there is code that is not known the interpreter may come to the loop inside from that.
  const std::string nested = replaced(kLoop, "v_add_nc_u32 v9, 2, v9\n",
                                      "v_add_nc_u32 v9, 2, v9\ns_sub_u32 s22, s22, 1\ns_cmp_eq_u32 s22, "
                                      "3\ns_cbranch_scc1 inside\n") +
                             storing(4);
  EXPECT_FALSE(is_kept(nested));
  EXPECT_TRUE(is_kept("s_cbranch_scc1 unknown\n" + nested + "unknown:\n.long 0xffffffff\n"));
}

TEST(LanesInLoops, ThatMayReadLaterAreKept) {
  EXPECT_TRUE(is_kept(kLoop + storing(9)));
  expect_same(kLoop + storing(9));
  const std::string left = replaced(kLoop, "s_and_b32 s0, exec_lo, s5\n",
                                    "s_cmp_eq_u32 s6, 3\ns_cbranch_scc1 out\ns_and_b32 s0, exec_lo, s5\n") +
                           storing(4) + "out:\n" + storing(9);
  EXPECT_TRUE(is_kept(left));
  expect_same(left);
  for (const auto& [from, to] :
       {// They do not leave, or come on with others.
        std::pair{"s_or_b32 s5, s5, exec_lo\n", ""},
        {"s_or_b32 s5, s5, exec_lo\n", "s_or_b32 s5, s5, s9\n"},
        {"s_or_b32 s5, s0, s5\n", "s_and_b32 s5, s0, s5\n"},
        {"s_and_not1_b32 s0, s5, exec_lo\n", "s_and_b32 s0, s5, exec_lo\n"},
        {"exec_lo, exec_lo, s4\ns_cbranch_execnz",
         "exec_lo, exec_lo, s0\ns_or_b32 exec_lo, exec_lo, "
         "s9\ns_cbranch_execnz"},
        {"s_and_b32 s0, exec_lo, s5\n", "s_and_b32 s0, exec_lo, s6\n"},
        {"s_and_b32 s0, exec_lo, s5\n", "s_add_i32 s5, s5, 0\ns_and_b32 s0, exec_lo, s5\n"},
        {"s_and_saveexec_b32 s9, vcc_lo\n", "s_and_b32 exec_lo, exec_lo, vcc_lo\n"},
        // They read before.
        {"s_and_b32 s0, exec_lo, s5\n", "v_add_nc_u32 v3, v3, v9\ns_and_b32 s0, exec_lo, s5\n"},
        {"v_cmp_lt_u32 vcc_lo, 40, v9\n", "v_cmp_lt_u32 vcc_lo, 40, v9\nv_readlane_b32 s21, v9, 3\n"},
        // They may come on by a bit of a lane without source.
        {"v_add_nc_u32 v9, 2, v9\n",
         "v_add_nc_u32 v9, 2, v9\nv_cmp_lt_u32 vcc_lo, v2, v3 row_shr:1 row_mask:0xf bank_mask:0xf\n"
         "s_or_b32 exec_lo, exec_lo, vcc_lo\nv_add_nc_u32 v3, v3, v9\n"},
        // Others come to the branch.
        {"round:\n", "s_cbranch_scc1 inside\nround:\n"}}) {
    const std::string text = replaced(kLoop, from, to) + storing(4);
    EXPECT_TRUE(is_kept(text)) << text;
  }
  EXPECT_TRUE(is_kept(replaced(wide(kLoop), "s_or_b64 exec, exec, s[18:19]",
                               "s_or_b64 exec, exec, s[18:19]\ns_mov_b32 s15, 0") +
                          storing(4),
                      64));
  const std::string read =
      replaced(kLoop, "s_and_b32 s0, exec_lo, s5\n", "v_add_nc_u32 v3, v3, v9\ns_and_b32 s0, exec_lo, s5\n");
  expect_same(read + storing(3));
}

}  // namespace
}  // namespace lockstep::translator
