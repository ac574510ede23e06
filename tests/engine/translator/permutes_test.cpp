// Lanes that read others of their row, their half-wave or the other half of their wave.
#include <gtest/gtest.h>

#include "engine/translator/effects.h"
#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

constexpr uint64_t kMasks[] = {~uint64_t{0}, 0x00ff'0f0f'f0ff'0001, 0xaaaa'5555'1234'8421, 0};

void expect_permute(const std::string& access) {
  for (const unsigned wave_size : {32u, 64u}) {
    // EXEC narrows before and grows behind, so that lanes that are off have a merge to wait for.
    const std::string exec = wave_size == 32 ? "exec_lo" : "exec",
                      saved = wave_size == 32 ? "s50" : "s[50:51]", bits = wave_size == 32 ? "b32" : "b64";
    const std::string narrowed =
        (wave_size == 32 ? "s_and_saveexec_b32 s50, s40\n" : "s_and_saveexec_b64 s[50:51], s[40:41]\n");
    const std::string code = "v_add_nc_u32 v2, v1, v3\n" + narrowed + "v_add_nc_u32 v2, v2, v2\n" + access +
                             "\nv_add_nc_u32 v5, v4, v2\ns_mov_" + bits + " " + exec + ", " + saved +
                             "\nv_add_nc_u32 v6, v4, v5\n" + access + "\nv_add_nc_u32 v7, v4, v2";
    const Routine routine = routine_of(code, wave_size);
    for (const Node& node : routine.nodes) EXPECT_NE(node.kind, NodeKind::call) << node.reason;
    for (const uint64_t mask : kMasks)
      for (const uint64_t seed : {1u, 2u})
        EXPECT_EQ(compare(code, {.wave_size = wave_size, .exec = mask, .seed = seed}), "") << access;
  }
}

TEST(Permutes, OfRows) {
  for (const std::string opcode : {"v_permlane16_b32", "v_permlanex16_b32"})
    for (const char* op_sel : {"", " op_sel:[1,0]", " op_sel:[0,1]", " op_sel:[1,1]"})
      for (const char* operands : {" v4, v2, s42, s43", " v4, v2, -1, -1", " v2, v2, 0x76543210, s41"})
        expect_permute(opcode + operands + op_sel);
}

TEST(Permutes, OfHalves) {
  expect_permute("v_permlane64_b32 v4, v2");
  expect_permute("ds_bpermute_b32 v4, v3, v2 offset:20");
  // Lanes that write to the same one, and to each other.
  for (const char* operands : {"v4, v3, v2 offset:20", "v2, v2, v3", "v3, v0, v2", "v4, v5, v2"})
    expect_permute(std::string("ds_permute_b32 ") + operands);
  for (const char* offset : {"0x8055", "0xc020", "0x041f", "0xe003"})
    expect_permute("ds_swizzle_b32 v4, v2 offset:" + std::string(offset));
}

// As compilers make __shfl_up(x, 1): LLVM 19 took a pair of such indices for one of them, and the program
// ended.
TEST(Permutes, OfTheLaneBeforeOrTheLaneItself) {
  for (const char* moved : {"-1", "1", "-3"})
    EXPECT_EQ(compare("v_mbcnt_lo_u32_b32 v8, -1, 0\nv_add_nc_u32 v5, " + std::string(moved) +
                          ", v8\nv_cndmask_b32 v5, v5, v8, vcc_lo\nv_lshlrev_b32 v5, 2, v5\n"
                          "ds_bpermute_b32 v4, v5, v2\nv_add_nc_u32 v6, v4, v4",
                      {.wave_size = 32}),
              "")
        << moved;
}

// What liveness has to know: lanes that are off are read, or lanes of the destination stay.
TEST(Permutes, ReadWhatTheyKeep) {
  const auto effects = [](const std::string& text) {
    return effects_of(routine_of(text, 64).nodes[0], 64, kMaxVgprs);
  };
  for (const std::string opcode : {"v_permlane16_b32", "v_permlanex16_b32"}) {
    const std::string permute = opcode + " v4, v2, s2, s3";
    for (const bool fetches : {false, true})
      for (const bool bounds : {false, true}) {
        const Effects each =
            effects(permute + (fetches ? " op_sel:[1," : " op_sel:[0,") + (bounds ? "1]" : "0]"));
        EXPECT_EQ(each.reads_all_lanes, fetches);
        EXPECT_TRUE(each.reads[2] && each.writes[4]);
        if (!fetches && !bounds) EXPECT_TRUE(each.reads[4]);
      }
  }
  EXPECT_TRUE(effects("v_permlane64_b32 v4, v2").reads_all_lanes);
  EXPECT_FALSE(effects("ds_bpermute_b32 v4, v2, v3").reads_all_lanes);
}

}  // namespace
}  // namespace lockstep::translator
