// Registers that a wave does not have (guide 3.3.1.4, 3.3.2.2): what the translator makes of them is what the
// interpreter does, whose tests are from the guide's text.
#include <gtest/gtest.h>

#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

using interpreter::assembled;

// With 24 VGPRs; what is in the others is left from an earlier wave. The code runs off its end.
void expect_same(std::string_view text, bool is_translated = true) {
  SCOPED_TRACE(std::string(text));
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x0ff0'1234}}) {
    EnginePair pair({32, 24, exec, 7});
    std::vector<uint32_t> code = assembled(text, 32);
    code.pop_back();  // s_endpgm
    EXPECT_EQ(pair.run(code), "");
    for (const InterpretedInstruction& each : pair.interpreted())
      EXPECT_TRUE(each.name.empty() || !is_translated) << each.name << ": " << each.reason;
  }
}

TEST(TranslatedOutOfRange, SourcesAreTheFirstRegister) {
  expect_same(
      "v_mov_b32 v1, v24\nv_add_nc_u32 v2, v23, v200\nv_add_f64 v[4:5], v[23:24], 0\nv_mov_b32 v3, v23");
  expect_same("v_cmp_lt_u32 vcc_lo, v1, v99\nv_cndmask_b32 v2, v1, v77, vcc_lo");
}

TEST(TranslatedOutOfRange, NothingIsWritten) {
  expect_same(
      "v_mov_b32 v24, 0\nv_lshlrev_b64 v[23:24], 1, v[0:1]\nv_add_co_u32 v100, vcc_lo, v0, v0\n"
      "v_fmac_f32 v40, v1, v2\nv_mov_b32 v1, v40");
}

TEST(TranslatedOutOfRange, OneOfSeveralDestinations) {
  expect_same(
      "v_add_co_u32 v1, ttmp2, v2, v2\nv_div_scale_f32 v2, ttmp2, v2, v2, v3\n"
      "v_mad_u64_u32 v[4:5], ttmp2, v2, v2, v[6:7]\nv_cmp_ge_u32 ttmp2, v2, v2\nv_add_co_u32 v7, null, v2, "
      "v2");
}

TEST(TranslatedOutOfRange, DualIssueTakesTheNumberModulo4) {
  expect_same("v_dual_mov_b32 v10, v25 :: v_dual_mov_b32 v11, v30");
  expect_same("v_dual_add_f32 v10, v25, v4 :: v_dual_mul_f32 v11, v2, v31");
  expect_same("v_dual_mov_b32 v10, v25 :: v_dual_mov_b32 v27, v30");
}

TEST(TranslatedOutOfRange, Memory) {
  expect_same(
      "global_load_b64 v[23:24], v0, s[4:5]\nglobal_load_b32 v40, v0, s[4:5]\nds_load_b128 v[22:25], v0\n"
      "ds_load_b32 v3, v40\nglobal_load_b32 v2, v24, s[4:5]\nds_store_b32 v30, v1 offset:4\n"
      "global_store_b32 v3, v50, s[4:5]");
  // Half of the data is not there.
  expect_same(
      "global_store_b64 v3, v[23:24], s[4:5]\nds_store_b128 v3, v[22:25]\nglobal_load_b32 v1, v[23:24], off",
      false);
}

TEST(TranslatedOutOfRange, ScalarRegisters) {
  expect_same(
      "s_mov_b32 ttmp0, 5\ns_mov_b64 ttmp[2:3], -1\ns_load_b128 ttmp[4:7], s[4:5], 0x0\ns_mov_b32 s5, ttmp0\n"
      "s_add_u32 ttmp1, s6, s7\ns_addc_u32 s8, s6, s7\ns_load_b32 null, s[8:9], 0x0\ns_and_saveexec_b32 "
      "null, s9");
  expect_same("v_readfirstlane_b32 ttmp9, v0\ns_movreld_b32 ttmp1, s2\ns_movrels_b32 s3, s90", false);
  // s_movrels_b32 s44, src_shared_base, which no assembler writes: S0 is read.
  expect_same("v_cmp_lt_u32 s0, v1, v2\n.long 0xbeac40eb\ns_mov_b32 s0, 0", false);
}

// Registers of a group that ends behind v255: no assembler writes these.
TEST(TranslatedOutOfRange, BehindTheLastRegister) {
  // v_lshlrev_b64 v[2:3], 0, v[255:256]; v_lshlrev_b64 v[255:256], 0, v[0:1]; v_cvt_f64_f32 v[255:256], v0
  EnginePair pair({32, 256, ~uint64_t{0}, 9});
  EXPECT_EQ(pair.run({0xd73c0002, 0x0003fe80, 0xd73c00ff, 0x00020080, 0x7ffe2100}), "");
}

// The same code in a wave with more registers is another routine.
TEST(TranslatedOutOfRange, IsDecidedByTheAllocation) {
  const std::vector<uint32_t>& code = assembled("v_mov_b32 v40, 3\nv_mov_b32 v1, v40", 32);
  for (const unsigned vgprs : {24u, 48u, 24u}) {
    EnginePair pair({32, vgprs, ~uint64_t{0}, 3});
    EXPECT_EQ(pair.run({code.begin(), code.end() - 1}), "") << vgprs;
  }
}

}  // namespace
}  // namespace lockstep::translator
