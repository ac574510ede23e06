// VGPRs that M0 chooses, in and out of the wave's registers, while others wait in host registers.
#include <gtest/gtest.h>

#include <string>

#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

using interpreter::TestWave;

void expect_same(const std::string& text, unsigned vgpr_count = kMaxVgprs) {
  for (const unsigned wave_size : {32u, 64u}) {
    for (const Node& node : routine_of(text, wave_size).nodes)
      EXPECT_TRUE(node.kind != NodeKind::call && node.kind != NodeKind::step) << node.reason;
    std::vector<uint32_t> code = interpreter::assembled(text, wave_size);
    code.pop_back();
    for (const uint64_t exec : {~uint64_t{0}, uint64_t{0xff0f'3c01'00ff'0f35}, uint64_t{0}}) {
      EnginePair pair({.wave_size = wave_size, .vgpr_count = vgpr_count, .exec = exec, .seed = exec});
      for (const uint32_t m0 : {0u, 1u, 3u, 40u, 200u, 255u, 256u, 0xffff'ffffu})
        EXPECT_EQ(pair.run(code, [&](TestWave& wave) { wave.s(125) = m0; }), "") << m0;
    }
  }
}

TEST(Indexed, Reads) {
  expect_same(
      "v_add_nc_u32 v5, v1, v2\nv_add_nc_u32 v8, v1, v3\nv_movrels_b32 v9, v5\nv_add_nc_u32 v9, v9, v8\n"
      "v_movrels_b32 v5, v5\nv_movrels_b32_e64 v10, v9\nv_mov_b32 v0, v10\nv_movrels_b32 v11, v250");
}

TEST(Indexed, Writes) {
  expect_same(
      "v_add_nc_u32 v5, v1, v2\nv_add_nc_u32 v8, v1, v3\nv_movreld_b32 v5, v1\nv_add_nc_u32 v9, v5, v8\n"
      "v_movreld_b32 v7, s40\nv_movreld_b32 v6, 0x12345678\nv_movreld_b32_e64 v4, v9\n"
      "v_add_nc_u32 v12, v6, v8\nv_movreld_b32 v250, v12");
}

// A write where there is no register is none, a read is one of v0.
TEST(Indexed, OutOfRange) {
  expect_same("v_add_nc_u32 v0, v1, v2\nv_movreld_b32 v20, v1\nv_movrels_b32 v9, v20\nv_movreld_b32 v0, v9",
              24);
}

// What nobody reads afterwards, unless M0 means it.
TEST(Indexed, Temporaries) {
  expect_same(
      "v_add_nc_u32 v5, v1, v2\nv_add_nc_u32 v8, v1, v3\nv_xor_b32 v2, v5, v8\nv_movrels_b32 v10, v1\n"
      "v_mov_b32 v8, v10\nv_mov_b32 v5, 1\nv_add_nc_u32 v2, v3, v10\nv_movreld_b32 v1, v2\n"
      "v_mov_b32 v2, v8\nv_add_nc_u32 v0, v4, v7\nv_movrels_b32 v11, v6\nv_mov_b32 v0, v11");
}

// Lanes that are off keep what they have, also where the array was written under another EXEC.
TEST(Indexed, LanesThatAreOff) {
  expect_same(
      "v_add_nc_u32 v5, v1, v2\ns_mov_b32 s20, exec_lo\ns_mov_b32 exec_lo, 0x0ff03c5a\n"
      "v_add_nc_u32 v6, v1, v3\nv_movrels_b32 v9, v5\nv_movreld_b32 v4, v9\nv_add_nc_u32 v7, v5, v6\n"
      "s_mov_b32 exec_lo, 0xf00fc3a5\nv_movreld_b32 v5, v7\nv_movrels_b32 v10, v4\n"
      "s_mov_b32 exec_lo, s20\nv_add_nc_u32 v11, v9, v10\nv_movrels_b32 v12, v5");
}

// The index changes from round to round, lanes turn off, and one of both ways writes.
TEST(Indexed, InLoops) {
  expect_same(
      "s_mov_b32 m0, 0\nv_mov_b32 v30, 0\nloop:\nv_add_nc_u32 v8, v8, v2\nv_movrels_b32 v20, v4\n"
      "v_add_nc_u32 v30, v30, v20\ns_bitcmp1_b32 m0, 0\ns_cbranch_scc1 odd\nv_movreld_b32 v4, v30\nodd:\n"
      "v_cmpx_gt_u32 v30, v1\ns_add_u32 m0, m0, 1\n"
      "s_cmp_lt_u32 m0, 12\ns_cbranch_scc1 loop\ns_mov_b32 exec_lo, -1\nv_add_nc_u32 v31, v8, v6");
}

// Rows of products, as compilers make them of arrays: what a round has put down the next one takes up.
TEST(Indexed, Carries) {
  expect_same(
      "s_mov_b32 s20, 0\nloop:\ns_mov_b32 m0, s20\nv_mov_b32 v44, 0\nv_movrels_b32 v43, v4\n"
      "v_mad_u64_u32 v[45:46], null, v1, v2, v[43:44]\nv_movreld_b32 v4, v45\nv_mov_b32 v43, v46\n"
      "s_add_i32 m0, s20, 1\nv_movrels_b32 v44, v4\nv_add_nc_u32 v43, v43, v44\n"
      "v_movreld_b32 v4, v43\nv_add_nc_u32 v1, v1, v5\ns_add_i32 s20, s20, 1\ns_cmp_eq_u32 s20, 9\n"
      "s_cbranch_scc0 loop\nv_add_nc_u32 v50, v43, v46",
      64);
}

}  // namespace
}  // namespace lockstep::translator