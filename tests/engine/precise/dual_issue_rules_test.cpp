// Pairs of instructions in one, written wrongly and well (guide 7.6).
#include "tests/engine/precise/broken_rules.h"

namespace lockstep::machine {
namespace {

// Fields of VOPD (15.3.7).
constexpr EncodedField srcx0(unsigned code) {
  return {0, 9, code};
}
constexpr EncodedField vsrcx1(unsigned vgpr) {
  return {9, 8, vgpr};
}
constexpr EncodedField srcy0(unsigned code) {
  return {32, 9, code};
}
constexpr EncodedField vsrcy1(unsigned vgpr) {
  return {41, 8, vgpr};
}
constexpr unsigned v(unsigned number) {
  return 256 + number;
}

const std::string kAdds = "v_dual_add_f32 v2, v4, v5 :: v_dual_add_f32 v3, v6, v7";

TEST(DualIssueRules, BanksOfSource0) {  // 7.6: SRC[1:0] is the bank
  expect_good(kAdds);
  for (unsigned y = 0; y < 8; ++y) {
    const std::string pair = encoded(kAdds, {srcx0(v(1)), srcy0(v(y))});
    if (y % 4 == 1)
      expect_broken(pair, "read source 0 from VGPR bank 1, v1 and v" + std::to_string(y), "7.6");
    else
      expect_good(pair);
  }
  // A bank is one for VGPRs alone.
  expect_good(encoded(kAdds, {srcx0(v(4)), srcy0(4)}));
  expect_good(encoded(kAdds, {srcx0(130), srcy0(130)}));
}

TEST(DualIssueRules, BanksOfSource1) {
  for (unsigned y = 0; y < 8; ++y) {
    const std::string pair = encoded(kAdds, {vsrcx1(2), vsrcy1(y)});
    if (y % 4 == 2)
      expect_broken(pair, "read source 1 from VGPR bank 2, v2 and v" + std::to_string(y), "7.6");
    else
      expect_good(pair);
  }
  // Each port has a cache line of its own: source 0 of one and source 1 of the other may share a bank.
  expect_good(encoded(kAdds, {srcx0(v(4)), vsrcx1(5), srcy0(v(5)), vsrcy1(4)}));
  // v_mov_b32 does not read VSRC1.
  expect_good(encoded("v_dual_mov_b32 v2, v4 :: v_dual_add_f32 v3, v6, v7", {vsrcx1(3), vsrcy1(7)}));
}

// 7.6: FMAMK reads its second VGPR through the port of source 2, FMAC and DOT2ACC their destination.
TEST(DualIssueRules, PortOfSource2) {
  const std::string fmamk_and_fmac = "v_dual_fmamk_f32 v2, v4, 0x1234, v6 :: v_dual_fmac_f32 v3, v5, v7";
  expect_good(fmamk_and_fmac);
  expect_broken(encoded(fmamk_and_fmac, {vsrcx1(9)}), "an odd VGPR, v9 and v3", "7.6");
  const std::string both = "v_dual_fmamk_f32 v2, v4, 0x1234, v6 :: v_dual_fmamk_f32 v3, v5, 0x1234, v7";
  expect_good(both);
  expect_broken(encoded(both, {vsrcx1(5)}), "an odd VGPR, v5 and v7", "7.6");
  expect_broken(encoded(both, {vsrcy1(8)}), "an even VGPR, v6 and v8", "7.6");
  // It is no source 1.
  expect_good(encoded("v_dual_fmamk_f32 v2, v4, 0x1234, v6 :: v_dual_add_f32 v3, v5, v7", {vsrcy1(6)}));
  const std::string dot = "v_dual_fmamk_f32 v2, v4, 0x1234, v6 :: v_dual_dot2acc_f32_f16 v3, v5, v7";
  expect_good(dot);
  expect_broken(encoded(dot, {vsrcx1(7)}), "an odd VGPR, v7 and v3", "7.6");
}

TEST(DualIssueRules, OneScalarRegisterEach) {
  expect_good("v_dual_add_f32 v2, s4, v5 :: v_dual_add_f32 v3, s6, v7");
  expect_good("v_dual_cndmask_b32 v2, v4, v5 :: v_dual_add_f32 v3, s6, v7");
  // VCC, which v_cndmask reads unnamed, counts as one.
  expect_broken(encoded("v_dual_cndmask_b32 v2, v4, v5 :: v_dual_add_f32 v3, v6, v7", {srcx0(4)}),
                "v_dual_cndmask_b32 reads s4 and vcc_lo", "7.6");
  expect_broken(encoded("v_dual_add_f32 v2, v4, v5 :: v_dual_cndmask_b32 v3, v6, v7", {srcy0(125)}),
                "v_dual_cndmask_b32 reads m0 and vcc_lo", "7.6");
}

TEST(DualIssueRules, TwoScalarValuesTogether) {
  expect_good("v_dual_add_f32 v2, 0x1234, v5 :: v_dual_add_f32 v3, 0x1234, v7");
  expect_good("v_dual_add_f32 v2, s4, v5 :: v_dual_add_f32 v3, 0x1234, v7");
  expect_good("v_dual_fmaak_f32 v2, s4, v5, 0x1234 :: v_dual_add_f32 v3, s4, v7");
  expect_broken(encoded("v_dual_fmaak_f32 v2, s4, v5, 0x1234 :: v_dual_add_f32 v3, v6, v7", {srcy0(6)}),
                "the two halves read s4, the literal and s6", "7.6");
}

TEST(DualIssueRules, OnlyInWavesOf32) {
  const std::string pair = encoded(kAdds, {});
  expect_good(pair);
  expect_broken(pair, "VOPD in a wave of 64", "7.6", 64);
}

}  // namespace
}  // namespace lockstep::machine
