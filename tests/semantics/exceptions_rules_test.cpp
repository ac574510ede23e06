// What the guide says of exceptions one rule at a time, on instructions as the decoder reads them.
#include <gtest/gtest.h>

#include <initializer_list>
#include <span>
#include <vector>

#include "semantics/exceptions.h"

namespace lockstep::semantics {
namespace {

// MODE of a wave that looks at exceptions: IEEE and denormals on, DX10_CLAMP off.
constexpr uint32_t kMode = 0x2f0;
constexpr uint32_t kDx10Clamp = 0x100, kIeee = 0x200, kFp16Ovfl = 0x800000;

constexpr uint32_t kOne = 0x3f800000, kInfinity = 0x7f800000, kSignalling = 0x7f800001, kQuiet = 0x7fc00000,
                   kLargest = 0x7f7fffff, kLeastNormal = 0x00800000, kDenormal = 1, kNegative = 0x80000000;

isa::Instruction decoded(std::initializer_list<uint32_t> words) {
  const std::vector<uint32_t> code(words);
  isa::Instruction instruction;
  const isa::DecodeError error = isa::decode(std::as_bytes(std::span(code)), 32, instruction);
  EXPECT_EQ(error, isa::DecodeError::none) << isa::describe(error);
  return instruction;
}

uint32_t raised(std::initializer_list<uint32_t> words, const std::array<uint64_t, 3>& source,
                uint32_t mode = kMode, uint64_t old_destination = 0) {
  LaneSources lane;
  lane.source = source;
  lane.old_destination = old_destination;
  return exceptions_of(decoded(words), false, lane, mode);
}

// v_add_f32_e32 v0, v1, v2 and its like.
constexpr uint32_t kAdd = 0x06000501, kMul = 0x10000501, kSqrt = 0x7e006701, kRcp = 0x7e005501,
                   kRcpIflag = 0x7e005701;

// Guide 3.4.9, the table of exceptions, row by row.
TEST(ExceptionRules, Invalid) {
  EXPECT_EQ(raised({kMul}, {0, kInfinity}), kInvalid);
  EXPECT_EQ(raised({kAdd}, {kInfinity, kInfinity | kNegative}), kInvalid);
  EXPECT_EQ(raised({kAdd}, {kInfinity, kInfinity}), 0u);
  EXPECT_EQ(raised({kSqrt}, {kOne | kNegative}), kInvalid);
  EXPECT_EQ(raised({kAdd}, {kOne, kSignalling}), kInvalid);
  EXPECT_EQ(raised({kAdd}, {kOne, kQuiet}), 0u);
}
TEST(ExceptionRules, InputDenormal) {
  EXPECT_EQ(raised({kAdd}, {kOne, kDenormal}), kInputDenormal | kInexact);
  // Of a flushed operand too; what is left of it is zero.
  EXPECT_EQ(raised({kAdd}, {kOne, kDenormal}, kMode & ~0x10u), kInputDenormal);
}
TEST(ExceptionRules, DivideByZero) {
  EXPECT_EQ(raised({kRcp}, {0}), kDivideByZero);
  EXPECT_EQ(raised({kRcp}, {kNegative}), kDivideByZero);
  EXPECT_EQ(raised({kRcp}, {kInfinity}), 0u);
  // Guide 16.8: the F32 functions flush denormals.
  EXPECT_EQ(raised({kRcp}, {kDenormal}), kDivideByZero | kInputDenormal);
}
TEST(ExceptionRules, Overflow) {
  EXPECT_EQ(raised({kMul}, {kLargest, kLargest}), kOverflow | kInexact);
  EXPECT_EQ(raised({kMul}, {kLargest, kLargest}, kMode | 3), kOverflow | kInexact)
      << "toward zero: no infinity";
  EXPECT_EQ(raised({kMul}, {kLargest, kOne}), 0u);
}
TEST(ExceptionRules, Underflow) {
  constexpr uint32_t kHalfOfOne = 0x3f000000;
  EXPECT_EQ(raised({kMul}, {kLeastNormal, kHalfOfOne}), kUnderflow) << "exact, and yet no normal number";
  EXPECT_EQ(raised({kMul}, {kLeastNormal, kHalfOfOne}, kMode & ~0x20u), kUnderflow | kInexact) << "flushed";
  EXPECT_EQ(raised({kMul}, {kLeastNormal, kLeastNormal}), kUnderflow | kInexact);
  EXPECT_EQ(raised({kAdd}, {kLeastNormal, kLeastNormal | kNegative}), 0u) << "zero itself is no underflow";
  // 1 - 2^-26 times the least normal number rounds up to it, whatever the exponent's range; 1 - 2^-24 does
  // not.
  constexpr uint32_t kAboveLeast = 0x00800400, kBelowOne = 0x3f7ff800, kJustBelowOne = 0x3f7fffff;
  EXPECT_EQ(raised({kMul}, {kAboveLeast, kBelowOne}), kInexact);
  EXPECT_EQ(raised({kMul}, {kLeastNormal, kJustBelowOne}), kUnderflow | kInexact);
}
TEST(ExceptionRules, Inexact) {
  EXPECT_EQ(raised({kAdd}, {kOne, 0x30000000}), kInexact);
  EXPECT_EQ(raised({kAdd}, {kOne, kOne}), 0u);
}
// And guide 16.8, V_RCP_IFLAG_F32: this exception only.
TEST(ExceptionRules, IntegerDivideByZero) {
  EXPECT_EQ(raised({kRcpIflag}, {0}), kIntegerDivideByZero);
  EXPECT_EQ(raised({kRcpIflag}, {0x40400000}), 0u) << "one third is inexact, but not told";
  EXPECT_EQ(raised({kRcpIflag}, {kSignalling}), 0u);
}

// Guide 3.4.2, DX10_CLAMP: suppresses all of them.
TEST(ExceptionRules, Dx10ClampSuppresses) {
  for (uint32_t code : {kAdd, kMul, kSqrt, kRcp, kRcpIflag})
    for (uint32_t value : {0u, kDenormal, kSignalling, kLargest})
      EXPECT_EQ(raised({code}, {value, value}, kMode | kDx10Clamp), 0u)
          << std::hex << code << " of " << value;
}
// Guide 3.4.2, IEEE: decides on the quieting of NaNs, not on the exceptions.
TEST(ExceptionRules, IeeeModeDoesNotMatter) {
  EXPECT_EQ(raised({kAdd}, {kOne, kSignalling}, kMode & ~kIeee), kInvalid);
}
// Guide 3.4.2, FP16_OVFL: the result is clamped, and overflows all the same.
TEST(ExceptionRules, ClampedHalvesOverflow) {
  const std::initializer_list<uint32_t> mul_f16 = {0xd5350000, 0x00020501};
  EXPECT_EQ(raised(mul_f16, {0x7bff, 0x7bff}, kMode), kOverflow | kInexact);
  EXPECT_EQ(raised(mul_f16, {0x7bff, 0x7bff}, kMode | kFp16Ovfl), kOverflow | kInexact);
}

// Guide 7.2.2.1: NEG and ABS come first.
TEST(ExceptionRules, InputModifiers) {
  // v_sqrt_f32_e64 v0, |v1|
  EXPECT_EQ(raised({0xd5b30100, 0x00000101}, {kOne | kNegative}), 0u);
  // v_add_f32_e64 v0, -|v1|, v2
  EXPECT_EQ(raised({0xd5030100, 0x20020501}, {kInfinity | kNegative, kInfinity}), kInvalid);
  EXPECT_EQ(raised({0xd5030100, 0x20020501}, {kInfinity, kInfinity | kNegative}), 0u);
  // v_add_f64 v[0:1], -v[2:3], |v[4:5]|
  constexpr uint64_t kInfinity64 = 0x7ff0000000000000;
  EXPECT_EQ(raised({0xd7270200, 0x20020902}, {kInfinity64, kInfinity64 | 1ull << 63}), kInvalid);
}

// Guide 7.2.3.1: OMOD and CLAMP work on a rounded result, and add nothing of their own (open).
TEST(ExceptionRules, OutputModifiersAddNothing) {
  // v_add_f32_e64 v0, v1, v2 mul:2, and the same with clamp. OMOD works without IEEE and output denormals.
  EXPECT_EQ(raised({0xd5030000, 0x08020501}, {0x7f000000, 0}, kMode & ~(kIeee | 0x20u)), 0u);
  EXPECT_EQ(raised({0xd5038000, 0x00020501}, {0x40000000, 0}), 0u);
}

// Guide 7.1, OPSEL: which half of a register a 16-bit operand is.
TEST(ExceptionRules, HalvesAreSelected) {
  constexpr uint64_t kLowSignalling = 0x3c007c01;
  const std::initializer_list<uint32_t> low = {0xd5320000, 0x00020501}, high = {0xd5320800, 0x00020501};
  EXPECT_EQ(raised(low, {kLowSignalling, 0x3c00}), kInvalid);
  EXPECT_EQ(raised(high, {kLowSignalling, 0x3c00}), 0u);
  // v_fmac_f16 with OPSEL[3]: the addend is the half that is written.
  EXPECT_EQ(raised({0xd5364000, 0x00020501}, {0x3c00, 0x3c00}, kMode, kLowSignalling), 0u);
  EXPECT_EQ(raised({0xd5360000, 0x00020501}, {0x3c00, 0x3c00}, kMode, kLowSignalling), kInvalid);
}

// Guide 16.7, V_FMAMK_F32 and V_FMAAK_F16: the constant is the second factor or the addend.
TEST(ExceptionRules, ConstantsInTheInstruction) {
  EXPECT_EQ(raised({0x58000501, kInfinity}, {0, kOne}), kInvalid);
  EXPECT_EQ(raised({0x58000501, kInfinity}, {kOne, kOne}), 0u);
  EXPECT_EQ(raised({0x70000501, 0x7bff}, {0x7bff, 0x3c00}), kOverflow | kInexact);
  EXPECT_EQ(raised({0x70000501, 0x7bff}, {0x7bff, 0xbc00}), 0u);
}

// Guide 7.6: each half of a pair has its operands; the halves are asked one at a time.
TEST(ExceptionRules, DualIssue) {
  // v_dual_mul_f32 v0, v1, v2 :: v_dual_add_f32 v3, v4, v5
  const isa::Instruction pair = decoded({0xc8c80501, 0x00020b04});
  const LaneSources zero_and_infinity{.source = {0, kInfinity}};
  EXPECT_EQ(exceptions_of(pair, false, zero_and_infinity, kMode), kInvalid);
  EXPECT_EQ(exceptions_of(pair, true, zero_and_infinity, kMode), 0u);
  // v_dual_mov_b32 v0, v1 :: v_dual_fmac_f32 v3, v4, v5
  const isa::Instruction with_move = decoded({0xca000101, 0x00020b04});
  EXPECT_FALSE(raises_exceptions(*with_move.row));
  EXPECT_TRUE(raises_exceptions(*with_move.row_y));
  EXPECT_EQ(exceptions_of(with_move, false, {.source = {kSignalling}}, kMode), 0u);
  EXPECT_EQ(exceptions_of(with_move, true, {.source = {kOne, kOne}, .old_destination = kSignalling}, kMode),
            kInvalid);
}

// Guide 7.5: OPSEL, OPSEL_HI, NEG and NEG_HI choose what each half computes with.
TEST(ExceptionRules, PackedHalves) {
  // v_pk_add_f16 v0, v1, v2 op_sel:[1,0] op_sel_hi:[1,0]: the low half of v1 is not read.
  EXPECT_EQ(raised({0xcc0f4800, 0x08020501}, {0x3c007c01, 0x7c013c00}), 0u);
  EXPECT_EQ(raised({0xcc0f4800, 0x08020501}, {0x7c013c00, 0x3c003c00}), kInvalid);
  // v_pk_add_f16 v0, v1, v2: overflow in one half, inexact in both.
  EXPECT_EQ(raised({0xcc0f4000, 0x18020501}, {0x7bff3c00, 0x7bff0001}),
            kOverflow | kInexact | kInputDenormal);
  // v_pk_add_f16 v0, v1, v2 neg_lo:[1,0]: infinity minus infinity below, a sum of infinities above.
  EXPECT_EQ(raised({0xcc0f4000, 0x38020501}, {0x7c007c00, 0x7c007c00}), kInvalid);
  // neg_hi:[1,0]
  EXPECT_EQ(raised({0xcc0f4100, 0x18020501}, {0x7c003c00, 0x7c003c00}), kInvalid);
  EXPECT_EQ(raised({0xcc0f4100, 0x18020501}, {0x3c007c00, 0x3c007c00}), 0u);
}

// Guide 7.5, MIX: the low half with OPSEL_HI, then OPSEL; NEG_HI is ABS.
TEST(ExceptionRules, MixedSources) {
  // v_fma_mix_f32 v0, |v1|, -v2, v3 op_sel:[1,0,0] op_sel_hi:[1,0,1]
  const std::initializer_list<uint32_t> mix = {0xcc204900, 0x4c0e0501};
  EXPECT_EQ(raised(mix, {0x3c007c01, kOne, 0x3c00}), 0u);
  EXPECT_EQ(raised(mix, {0x00013c00, kOne, 0x4000}), kInputDenormal | kInexact);
  EXPECT_EQ(raised(mix, {0xfc000000, kOne, 0x7c00}), kInvalid) << "|-inf| * -1 + inf";
}

// Guide 7.5.1: an inline constant of brain floats is the upper half of the F32 one, for both elements.
TEST(ExceptionRules, BrainFloatConstants) {
  // v_dot2_f32_bf16 v0, 1.0, v2, v3
  const std::initializer_list<uint32_t> dot = {0xcc1a4000, 0x1c0e04f2};
  EXPECT_EQ(raised(dot, {kOne, 0x3f803f80, kOne}), 0u);
  EXPECT_EQ(raised(dot, {kOne, 0x7f807f80, kOne}), 0u) << "nowhere a zero times infinity";
  EXPECT_EQ(raised(dot, {kOne, 0xff807f80, kOne}), kInvalid);
}

// Guide 16.9.1: CLAMP makes quiet NaNs signal.
TEST(ExceptionRules, SignallingCompares) {
  EXPECT_EQ(raised({0xd4110000, 0x00020501}, {kOne, kQuiet}), 0u);
  EXPECT_EQ(raised({0xd4118000, 0x00020501}, {kOne, kQuiet}), kInvalid);
  EXPECT_EQ(raised({0xd4110000, 0x00020501}, {kOne, kSignalling}), kInvalid);
}

// Guide 16.8, V_CVT_I32_F32: CLAMP lets it tell that it is inexact; LLVM: OMOD clears its exceptions (open).
TEST(ExceptionRules, ConversionsToIntegers) {
  constexpr uint32_t kOneAndAHalf = 0x3fc00000;
  EXPECT_EQ(raised({0xd5880000, 0x00000101}, {kOneAndAHalf}), 0u);
  EXPECT_EQ(raised({0xd5888000, 0x00000101}, {kOneAndAHalf}), kInexact);
  EXPECT_EQ(raised({0xd5888000, 0x08000101}, {kOneAndAHalf}), 0u);
  EXPECT_EQ(raised({0xd5880000, 0x00000101}, {kQuiet}), kInvalid);
  EXPECT_EQ(raised({0xd5880000, 0x08000101}, {kQuiet}), 0u);
}

// Guide 16.12, V_DIV_FIXUP_F32: of the division, not of the quotient.
TEST(ExceptionRules, DivisionFixup) {
  const std::initializer_list<uint32_t> fixup = {0xd6270000, 0x040e0501};
  EXPECT_EQ(raised(fixup, {kSignalling, kOne, kOne}), 0u);
  EXPECT_EQ(raised(fixup, {kOne, 0, 0}), kInvalid);
  EXPECT_EQ(raised(fixup, {kOne, kInfinity, kInfinity}), kInvalid);
  EXPECT_EQ(raised(fixup, {kOne, 0, kOne}), kDivideByZero);
  EXPECT_EQ(raised(fixup, {kOne, 0, kInfinity}), 0u);
  EXPECT_EQ(raised(fixup, {kOne, kOne, kDenormal}), kInputDenormal);
}

// What the guide exempts (7.9, 12.3, 13.3), and what is not float arithmetic.
TEST(ExceptionRules, WhatRaisesNothing) {
  for (const isa::Row& row : isa::rows()) {
    using enum isa::Encoding;
    if (!isa::is_vector_alu(row.encoding) || row.encoding == vinterp || row.flags & isa::kMatrix)
      EXPECT_FALSE(raises_exceptions(row)) << row.name;
  }
  for (const char* name :
       {"v_mov_b32", "v_cndmask_b32", "v_add_nc_u32", "v_cmp_class_f32", "v_cmpx_class_f64", "v_cvt_f64_i32",
        "v_cvt_f32_ubyte0", "v_cvt_off_f32_i4", "v_div_scale_f32", "v_div_scale_f64", "v_trig_preop_f64",
        "v_cubema_f32", "v_pack_b32_f16", "v_cvt_norm_i16_f16", "v_cvt_floor_i32_f32", "v_dot4_i32_iu8"}) {
    ASSERT_NE(isa::find_row(name), nullptr) << name;
    EXPECT_FALSE(raises_exceptions(*isa::find_row(name))) << name;
  }
  // v_cmp_class_f32_e32 vcc_lo, v1, v2
  EXPECT_EQ(raised({0x7cfc0501}, {kSignalling, 1}), 0u);
}

}  // namespace
}  // namespace lockstep::semantics
