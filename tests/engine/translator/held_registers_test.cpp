// Registers that translated code holds itself.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "engine/translator/liveness.h"
#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

void expect_same(const std::string& text) {
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x0ff0'f00f'33ff'0ff0}})
    for (uint64_t seed = 1; seed <= 4; ++seed)
      EXPECT_EQ(compare(text, {.exec = exec, .seed = seed}), "") << text;
}

// No other register matters behind it.
const std::string kStore = "v_lshlrev_b32 v0, 2, v0\nv_and_b32 v0, 0xfc, v0\nds_store_b32 v0, v9\ns_endpgm\n";

// What a loop changes, though code before it does not touch it.
TEST(HeldRegisters, StayFromRoundToRound) {
  const auto are_held = [](const std::string& text) {
    const Routine routine = routine_of(text);
    const Facts facts = analyse(routine);
    for (size_t b = 0; b < routine.blocks.size(); ++b)
      if (facts.nodes[routine.blocks[b].first].effects.writes[4]) return facts.blocks[b].held[9];
    ADD_FAILURE() << text;
    return false;
  };
  // v9 is that of the last round in which a lane was on.
  const std::string loop =
      "s_mov_b32 s4, 0\nv_and_b32 v2, 7, v2\ns_cbranch_scc1 round\ns_mov_b32 s6, 0\nround:\nv_add_nc_u32 v4, "
      "v5, "
      "v2\nv_mov_b32 v9, v4\nv_add_nc_u32 v2, -1, v2\nv_cmp_gt_i32 vcc_lo, 0, v2\ns_or_b32 s4, vcc_lo, s4\n"
      "s_and_not1_b32 exec_lo, exec_lo, s4\ns_cbranch_execnz round\ns_or_b32 exec_lo, exec_lo, s4\n";
  EXPECT_TRUE(are_held(loop + kStore));
  expect_same(loop + kStore);
  const std::string around = "s_mov_b32 s20, 3\nagain:\n" + loop +
                             "s_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 again\n";
  EXPECT_TRUE(are_held(around + kStore));
  expect_same(around + kStore);
  const std::string blocks =
      replaced(loop, "v_add_nc_u32 v2, -1, v2\n",
               "s_cmp_eq_u32 s6, 1\ns_cbranch_scc1 half\nhalf:\nv_add_nc_u32 v2, -1, v2\n");
  EXPECT_TRUE(are_held(blocks + kStore));
  expect_same(blocks + kStore);
  // What M0 chooses from is in the Wave, here at the end of each round.
  EXPECT_FALSE(are_held(replaced(blocks, "half:\n", "half:\nv_movrels_b32 v13, v9\n") + kStore));
}

}  // namespace
}  // namespace lockstep::translator
