// Operands that an encoding has room for and that the guide forbids (guide 3.4, 6.2, 7.2).
#include "tests/engine/precise/broken_rules.h"

namespace lockstep::machine {
namespace {

// Source fields of VOP3 and VOP3P (15.3.4), VOP2 (15.3.1) and SOP2 (15.1.1), and VOP3's scalar destination.
constexpr EncodedField src0(unsigned code) {
  return {32, 9, code};
}
constexpr EncodedField src1(unsigned code) {
  return {41, 9, code};
}
constexpr EncodedField src2(unsigned code) {
  return {50, 9, code};
}
constexpr EncodedField vop2_src0(unsigned code) {
  return {0, 9, code};
}
constexpr EncodedField sop2_ssrc0(unsigned code) {
  return {0, 8, code};
}
constexpr EncodedField vdst(unsigned code) {
  return {0, 8, code};
}
constexpr EncodedField sdst(unsigned code) {
  return {8, 7, code};
}
constexpr unsigned kVccHi = 107, kNull = 124, kM0 = 125, kExecLo = 126, kExecHi = 127, kScc = 253;

TEST(OperandRules, TwoScalarValues) {  // 7.2.2.3
  const std::string add = "v_add3_u32 v2, s4, s5, v3";
  expect_good(add);
  expect_broken(encoded(add, {src2(6)}), "v_add3_u32 reads 3 scalar values, s4, s5 and s6", "7.2.2.3");
  // SGPRs, VCC, M0, EXEC, SCC and the literal count; inline constants and NULL do not.
  for (const unsigned code : {kVccHi, kM0, kExecLo, kScc})
    expect_broken(encoded(add, {src2(code)}), "3 scalar", "7.2.2.3");
  for (const unsigned code : {128u, 240u, kNull}) expect_good(encoded(add, {src2(code)}));
  expect_broken(encoded("v_add3_u32 v2, s4, 0x1234, v3", {src2(6)}), "s4, the literal and s6", "7.2.2.3");
  // The same one twice counts once.
  expect_good("v_add3_u32 v2, s4, s5, s4");
  expect_good("v_add3_u32 v2, s4, 0x1234, 0x1234");
  expect_broken(encoded("v_pk_fma_f16 v2, s4, s5, v3", {src2(6)}), "3 scalar", "7.2.2.3");
}

TEST(OperandRules, ScalarValuesOfOneRegisterInTwoSizes) {  // 7.2.2.3: s[2n] and s[2n:2n+1] are one
  const std::string mad = "v_mad_u64_u32 v[2:3], vcc_lo, s4, s6, v[4:5]";
  expect_good(encoded(mad, {src2(4)}));
  expect_good(encoded(mad, {src1(4), src2(6)}));
  expect_good(encoded(mad, {src1(5), src2(4)}));
  expect_broken(encoded(mad, {src0(5), src2(4)}), "s5, s6 and s[4:5]", "7.2.2.3");
  expect_broken(encoded(mad, {src0(kExecHi), src2(kExecLo)}), "exec_hi, s6 and exec", "7.2.2.3");
}

TEST(OperandRules, ALiteralInTwoSizes) {  // 7.2.2.3: is two scalar values
  const std::string mad = "v_mad_u64_u32 v[2:3], vcc_lo, 0x1234, v6, v[4:5]";
  expect_good(encoded(mad, {src2(255)}));
  expect_broken(encoded(mad, {src1(6), src2(255)}), "3 scalar values", "7.2.2.3");
}

TEST(OperandRules, VccCountsWhereItIsImplied) {  // 7.2.2.3
  expect_good("v_div_fmas_f32 v2, s4, v4, v5");
  expect_broken(encoded("v_div_fmas_f32 v2, s4, v4, v5", {src1(6)}), "s4, s6 and vcc_lo", "7.2.2.3");
  expect_good(encoded("v_div_fmas_f32 v2, s4, v4, v5", {src1(106)}));
  expect_good("v_add_co_ci_u32 v2, vcc_lo, s4, v4, vcc_lo");
  expect_broken(encoded("v_cndmask_b32_e64 v2, s4, v4, s6", {src1(5)}), "s4, s5 and s6", "7.2.2.3");
}

// 7.2.2.3: in the second pass of wave64 a mask is read one register further.
TEST(OperandRules, MasksAreSharedWithNoDataInWave64) {
  const std::string select = "v_cndmask_b32_e64 v2, s4, v4, s[6:7]";
  expect_good(encoded(select, {src1(4)}, 64), 64);
  expect_broken(encoded(select, {src1(6)}, 64), "s4, s6 and s[6:7]", "7.2.2.3", 64);
  expect_good(encoded("v_cndmask_b32_e64 v2, s4, v4, s6", {src1(6)}));
}

TEST(OperandRules, SixtyFourBitShiftsTakeOne) {  // 7.2.2.3
  for (const std::string name : {"v_lshlrev_b64", "v_lshrrev_b64", "v_ashrrev_i64"}) {
    expect_good(name + " v[2:3], s4, v[4:5]");
    expect_good(name + " v[2:3], 7, s[4:5]");
    const std::string shift = name + " v[2:3], s4, v[4:5]";
    expect_broken(encoded(shift, {src1(6)}), name + " takes s4 and s[6:7]", "7.2.2.3");
    expect_broken(encoded(shift, {src1(4)}), "only once", "7.2.2.3");
  }
}

TEST(OperandRules, MasksOfWave32AreInLowHalves) {  // 3.4.6
  expect_good("v_cmp_eq_u32_e64 s4, v1, v2");
  expect_good("v_cmp_eq_u32_e64 vcc_lo, v1, v2");
  const std::string compare = "v_cmp_eq_u32_e64 s4, v1, v2";
  expect_broken(encoded(compare, {vdst(kVccHi)}), "vcc_hi as mask or carry", "3.4.6");
  const std::string carry = "v_add_co_ci_u32_e64 v2, s4, v1, v3, s6";
  expect_good(carry);
  expect_broken(encoded(carry, {sdst(kVccHi)}), "vcc_hi as mask or carry", "3.4.6");
  expect_broken(encoded(carry, {src2(kExecHi)}), "exec_hi as mask or carry", "3.4.6");
  expect_broken(encoded("v_cndmask_b32_e64 v2, v1, v3, s6", {src2(kVccHi)}), "vcc_hi as mask", "3.4.6");
  // It is an SGPR like others for data, and part of VCC in wave64.
  expect_good("v_mov_b32 v2, vcc_hi");
  expect_good("v_cndmask_b32_e64 v2, v1, v3, vcc", 64);
}

TEST(OperandRules, ReservedSources) {  // 6.2, table 20; 7.2, table 26
  for (const unsigned code : {239u, 251u, 252u}) {
    const std::string words = "reads source operand " + std::to_string(code);
    expect_broken(encoded("s_add_u32 s4, s5, s6", {sop2_ssrc0(code)}), words, "6.2 and 7.2");
    expect_broken(encoded("v_add_nc_u32 v2, s4, v3", {vop2_src0(code)}), words, "6.2 and 7.2");
    expect_broken(encoded("v_add3_u32 v2, v4, v5, v3", {src1(code)}), words, "6.2 and 7.2");
  }
  expect_good("s_mov_b64 s[4:5], src_shared_base\nv_mov_b32 v2, src_scc");
}

// 7.2.3.2: the first pass must not overwrite what the second reads.
TEST(OperandRules, Wave64ReadsWhatItWrites) {
  const std::string compare = "v_cmp_eq_u32_e64 s[4:5], s6, v2";
  expect_good(compare, 64);
  for (const unsigned code : {4u, 5u})
    expect_broken(encoded(compare, {src0(code)}, 64), "and writes s[4:5] in a wave of 64", "7.2.3.2", 64);
  expect_broken("v_cmp_eq_u32 vcc, vcc_lo, v2", "reads vcc_lo and writes vcc", "7.2.3.2", 64);
  expect_broken("v_cmpx_eq_u32 exec_lo, v2", "reads exec_lo and writes exec", "7.2.3.2", 64);
  expect_broken(encoded("v_add_co_u32 v2, s[4:5], s6, v3", {src0(4)}, 64), "reads s4", "7.2.3.2", 64);
  expect_broken(encoded("v_mad_u64_u32 v[2:3], s[4:5], v6, v7, s[8:9]", {src2(4)}, 64), "reads s[4:5]",
                "7.2.3.2", 64);
  // A carry goes through one pair, half by half.
  expect_good("v_add_co_ci_u32 v2, vcc, v1, v3, vcc", 64);
  expect_good("v_add_co_ci_u32_e64 v2, s[4:5], v1, v3, s[4:5]", 64);
  // These are issued once; and wave32 has one pass.
  expect_good("s_mov_b32 s4, 1\ns_nop 0\nv_readlane_b32 s4, v1, s4", 64);
  expect_good("v_cmp_eq_u32_e64 s4, s4, v2");
}

TEST(OperandRules, WhatVectorInstructionsDoNotWrite) {
  expect_broken(encoded("v_readfirstlane_b32 s4, v1", {{17, 8, kM0}}), "writes m0", "3.4.3");
  expect_broken(encoded("v_readlane_b32 s4, v1, 3", {vdst(kM0)}), "writes m0", "3.4.3");
  expect_broken(encoded("v_cmp_eq_u32_e64 s4, v1, v2", {vdst(kExecLo)}), "writes EXEC", "7.2.5");
  expect_broken(encoded("v_readlane_b32 s4, v1, 3", {vdst(kExecHi)}), "writes EXEC", "7.2.5");
  expect_good("v_cmpx_eq_u32 v1, v1");
  expect_good(encoded("v_cmp_eq_u32_e64 s4, v1, v2", {vdst(kNull)}));
}

// Each rule that an instruction breaks is told, and a fault comes of the first.
TEST(OperandRules, SeveralInOneInstruction) {
  const std::string text = encoded("v_cndmask_b32_e64 v2, s4, v4, s6", {src1(5), src2(kVccHi)});
  EXPECT_EQ(broken_rules_of(text).size(), 2u);
  Dispatch d("s_nop 0\n" + text, 1, 32);
  d.options.precise.rules = precise::Rules::fault;
  const Outcome outcome = d.run();
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->fault.kind, FaultKind::broken_rule);
  EXPECT_EQ(outcome.fault->fault.pc, d.pc(1));
}

// 3.3.1.3: 64 bits need an even register, more a multiple of four; a mask only in waves of 64.
TEST(OperandRules, GroupsOfScalarRegistersAreAligned) {
  constexpr EncodedField kOddSdst{16, 7, 5};
  expect_good("s_mov_b64 s[4:5], s[6:7]");
  expect_broken(encoded("s_mov_b64 s[4:5], s[6:7]", {sop2_ssrc0(7)}), "s[7:8], which counts as s[6:7]",
                "3.3.1.3");
  expect_broken(encoded("s_mov_b64 s[4:5], s[6:7]", {kOddSdst}), "s[5:6], which counts as s[4:5]", "3.3.1.3");
  expect_broken(encoded("v_lshlrev_b64 v[2:3], v4, s[6:7]", {src1(7)}), "s[7:8]", "3.3.1.3");
  expect_broken(encoded("v_mad_u64_u32 v[2:3], vcc, v4, v5, v[6:7]", {sdst(5)}, 64), "s[5:6]", "3.3.1.3", 64);
  expect_good(encoded("v_mad_u64_u32 v[2:3], vcc_lo, v4, v5, v[6:7]", {sdst(5)}));
  // The data and the base of scalar loads, the base of vector ones.
  const std::string load = "s_load_b128 s[4:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)";
  expect_good(load);
  expect_broken(encoded(load, {{6, 7, 6}}), "s[6:9], which counts as s[4:7]", "3.3.1.3");
  const std::string global = "v_mov_b32 v1, 0\nglobal_load_b32 v2, v1, s[0:1]";
  expect_good(global);
  expect_broken("v_mov_b32 v1, 0\n" + encoded("global_load_b32 v2, v1, s[0:1]", {{48, 7, 1}}),
                "s[1:2], which counts as s[0:1]", "3.3.1.3");
}

}  // namespace
}  // namespace lockstep::machine
