// What lanes that have gone one way of a branch may read behind it, where the registers of the other way have
// numbers of another time in them.
#include "engine/translator/other_ways.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

// Lanes leave the loop one by one. One way writes v4, which the other way alone reads. The register that M0
// chooses is what loops must not have in which each lane is followed (lanes_in_loops.h).
std::string loop() {
  return "s_mov_b32 m0, 1\ns_mov_b32 s61, exec_lo\ns_mov_b32 exec_lo, -1\nv_and_b32 v6, 7, v6\ns_mov_b32 "
         "exec_lo, "
         "s61\nv_mov_b32 v10, 0\ns_mov_b32 s60, 0\nagain:\nv_cmp_lt_u32 vcc_lo, v3, v2\n"
         "s_and_saveexec_b32 s20, vcc_lo\ns_xor_b32 s21, exec_lo, s20\ns_cbranch_execz other\n"
         "v_add_nc_u32 v4, v3, v1\nv_mul_lo_u32 v5, v4, v4\nother:\ns_and_not1_saveexec_b32 s22, s21\n"
         "s_cbranch_execz both\nv_sub_nc_u32 v5, v4, v2\nboth:\ns_or_b32 exec_lo, exec_lo, s22\n"
         "v_add_nc_u32 v10, v10, v5\nv_mov_b32 v4, v2\nv_mad_u32_u24 v2, v2, 5, v5\nv_mad_u32_u24 v3, v3, 3, "
         "v5\n"
         "v_movrels_b32 v13, v14\nv_subrev_nc_u32 v6, 1, v6\nv_cmp_gt_i32 vcc_lo, 0, v6\ns_or_b32 s60, "
         "vcc_lo, s60\n"
         "s_and_not1_b32 exec_lo, exec_lo, s60\ns_cbranch_execnz again\nout:\ns_mov_b32 exec_lo, -1\n"
         "v_mov_b32 v4, 0\ns_mov_b32 vcc_lo, 0\n";
}

struct Read {
  bool by_liveness = false, found = false;
};
Read of_v4(const std::string& text, unsigned wave_size = 32) {
  const Routine routine = routine_of(text, wave_size);
  const Facts facts = analyse(routine);
  for (unsigned n = 0; n < routine.nodes.size(); ++n)
    if (routine.nodes[n].instruction.row->base == isa::Opcode::v_mul_lo_u32)
      return {facts.nodes[n + 1].live.on[4], read_behind(routine, facts, n, facts.nodes[n + 1].live.on)[4]};
  ADD_FAILURE() << text;
  return {};
}

void expect_same(const std::string& text, unsigned wave_size = 32) {
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x0ff0'f00f'33ff'0ff0}})
    for (uint64_t seed = 1; seed <= 3; ++seed)
      EXPECT_EQ(compare(text, {.wave_size = wave_size, .exec = exec, .seed = seed}), "") << text;
}

TEST(OtherWays, LanesComeOnAgainBehindThem) {
  const Read read = of_v4(loop());
  EXPECT_TRUE(read.by_liveness);
  EXPECT_FALSE(read.found);
  expect_same(loop());
  // With a branch inside, and scalar instructions between.
  const std::string nested =
      replaced(loop(), "v_sub_nc_u32 v5, v4, v2\n",
               "v_sub_nc_u32 v5, v4, v2\ns_mov_b32 s24, 0\ns_cmp_eq_u32 s24, 1\ns_cbranch_scc1 both\n"
               "v_add_nc_u32 v5, v5, v2\n");
  const std::string apart = replaced(loop(), "other:", "s_mov_b32 s25, 3\nother:\ns_mov_b32 s26, 4\n");
  for (const std::string& text : {nested, apart}) {
    EXPECT_FALSE(of_v4(text).found) << text;
    expect_same(text);
  }
  // Registers that are read behind it are.
  const Routine routine = routine_of(loop());
  const Facts facts = analyse(routine);
  for (unsigned n = 0; n < routine.nodes.size(); ++n)
    if (routine.nodes[n].instruction.row->base == isa::Opcode::v_mul_lo_u32) {
      const RegisterSet read_there = read_behind(routine, facts, n, facts.nodes[n + 1].live.on);
      for (const unsigned r : {2u, 3u, 5u, 6u, 10u, scalar_register(21), scalar_register(60)})
        EXPECT_TRUE(read_there[r]) << r;
    }
}

TEST(OtherWays, AreNoneIfLanesMayReadThere) {
  for (const auto& [from, to] :
       {std::pair{"v_sub_nc_u32 v5, v4, v2\n", "v_sub_nc_u32 v5, v4, v2\nv_readlane_b32 s30, v4, 3\n"},
        {"v_sub_nc_u32 v5, v4, v2\n", "s_mov_b32 s22, s20\nv_sub_nc_u32 v5, v4, v2\n"},
        {"v_sub_nc_u32 v5, v4, v2\n", "s_or_b32 exec_lo, exec_lo, s22\nv_sub_nc_u32 v5, v4, v2\n"},
        {"v_sub_nc_u32 v5, v4, v2\n", "s_mov_b32 exec_lo, -1\nv_sub_nc_u32 v5, v4, v2\n"},
        {"v_sub_nc_u32 v5, v4, v2\n",
         "v_sub_nc_u32 v5, v4, v2\ns_cmp_eq_u32 s21, 77\ns_cbranch_scc1 out\nv_mov_b32 v11, v4\n"},
        {"exec_lo, exec_lo, s22", "exec_lo, exec_lo, s21"},
        {"s_and_not1_saveexec_b32 s22, s21", "s_or_not1_saveexec_b32 s22, s21"},
        {"v_mov_b32 v4, v2", "v_add_nc_u32 v4, v4, v2"},
        {"other:", "s_mov_b32 exec_lo, -1\nother:"},
        {"other:", "v_mov_b32 v11, v4\nother:"}}) {
    const std::string text = replaced(loop(), from, to);
    EXPECT_TRUE(of_v4(text).found) << text;
    expect_same(text);
  }
  // The other half of the wave stays on.
  const std::string in_64 = replaced(replaced(loop(), "v_cmp_lt_u32 vcc_lo", "v_cmp_lt_u32 vcc"),
                                     "v_cmp_gt_i32 vcc_lo", "v_cmp_gt_i32 vcc");
  EXPECT_TRUE(of_v4(in_64, 64).found);
}

}  // namespace
}  // namespace lockstep::translator
