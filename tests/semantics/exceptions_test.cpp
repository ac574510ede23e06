// The float exceptions of every instruction that raises any against MPFR, over the edge values of the
// instruction tests, in all rounding and denormal modes (guide 3.4.9; 16.7 to 16.12 for the instructions).
#include "exceptions_driver.h"
#include "numeric/dot.h"
#include "numeric/transcendental.h"

namespace lockstep::semantics {
namespace {

using namespace testing;
using isa::Opcode;

// `expression` speaks of the operands s[0], s[1], .. in the order of the body and of the mode m.
#define ORACLE(...)                                                                         \
  []([[maybe_unused]] const uint64_t* s, [[maybe_unused]] RuntimeFloatMode m) -> uint32_t { \
    return __VA_ARGS__;                                                                     \
  }
#define RAISES(name, ...) verify_exceptions(Opcode::name, ORACLE(__VA_ARGS__))
// With fewer values: the arithmetic of an instruction that RAISES tells of.
#define RAISES_AS_WELL(name, ...) verify_exceptions(Opcode::name, ORACLE(__VA_ARGS__), kFewValues)

const Variation kFewValues{.prepare = {}, .vcc = false, .steps = {4, 3, 3}};
const Variation kClamped{.prepare = [](isa::Instruction& instruction) { instruction.clamp = true; }};
const Variation kWithVcc{.prepare = {}, .vcc = true, .steps = {3, 2, 3}};
// The quotient does not matter.
const Variation kFewQuotients{.prepare = {}, .vcc = false, .steps = {17, 1, 1}};

TEST(Exceptions, Sums) {
  RAISES(v_add_f16, of_sum(kHalf, m, s[0], s[1]));
  RAISES(v_add_f32, of_sum(kSingle, m, s[0], s[1]));
  RAISES(v_add_f64, of_sum(kDouble, m, s[0], s[1]));
  RAISES(v_sub_f16, of_sum(kHalf, m, s[0], s[1] ^ kHalf.sign()));
  RAISES(v_sub_f32, of_sum(kSingle, m, s[0], s[1] ^ kSingle.sign()));
  RAISES(v_subrev_f16, of_sum(kHalf, m, s[1], s[0] ^ kHalf.sign()));
  RAISES(v_subrev_f32, of_sum(kSingle, m, s[1], s[0] ^ kSingle.sign()));
}

TEST(Exceptions, Products) {
  RAISES(v_mul_f16, of_product(kHalf, m, s[0], s[1]));
  RAISES(v_mul_f32, of_product(kSingle, m, s[0], s[1]));
  RAISES(v_mul_f64, of_product(kDouble, m, s[0], s[1]));
  // Guide 16.7, V_MUL_DX9_ZERO_F32: zero times anything is zero; so infinity times zero is valid.
  RAISES(v_mul_dx9_zero_f32, of_fma_dx9(kSingle, m, s[0], s[1], 0));
}

TEST(Exceptions, FusedMultiplyAdd) {
  RAISES(v_fma_f16, of_fma(kHalf, m, s[0], s[1], s[2]));
  RAISES(v_fma_f32, of_fma(kSingle, m, s[0], s[1], s[2]));
  RAISES(v_fma_f64, of_fma(kDouble, m, s[0], s[1], s[2]));
  RAISES_AS_WELL(v_fmac_f16, of_fma(kHalf, m, s[0], s[1], s[2]));
  RAISES_AS_WELL(v_fmac_f32, of_fma(kSingle, m, s[0], s[1], s[2]));
  RAISES_AS_WELL(v_fmamk_f16, of_fma(kHalf, m, s[0], s[1], s[2]));
  RAISES_AS_WELL(v_fmamk_f32, of_fma(kSingle, m, s[0], s[1], s[2]));
  RAISES_AS_WELL(v_fmaak_f16, of_fma(kHalf, m, s[0], s[1], s[2]));
  RAISES_AS_WELL(v_fmaak_f32, of_fma(kSingle, m, s[0], s[1], s[2]));
  RAISES_AS_WELL(v_fma_dx9_zero_f32, of_operand(kSingle, s[2]) | of_fma_dx9(kSingle, m, s[0], s[1], s[2]));
  RAISES_AS_WELL(v_fmac_dx9_zero_f32, of_operand(kSingle, s[2]) | of_fma_dx9(kSingle, m, s[0], s[1], s[2]));
}

TEST(Exceptions, ScalingAndParts) {
  RAISES(v_ldexp_f16, of_ldexp(kHalf, m, s[0], static_cast<int16_t>(s[1])));
  RAISES(v_ldexp_f32, of_ldexp(kSingle, m, s[0], static_cast<int32_t>(s[1])));
  RAISES(v_ldexp_f64, of_ldexp(kDouble, m, s[0], static_cast<int32_t>(s[1])));
  RAISES(v_fract_f16, of_fraction(kHalf, m, s[0]));
  RAISES(v_fract_f32, of_fraction(kSingle, m, s[0]));
  RAISES(v_fract_f64, of_fraction(kDouble, m, s[0]));
}

// Selection and taking apart: only what 3.4.9 says of operands.
TEST(Exceptions, OperandsAlone) {
#define OPERANDS_OF_EACH_FORMAT(name)                               \
  RAISES(v_##name##_f16, of_operands(kHalf, {s[0], s[1], s[2]}));   \
  RAISES(v_##name##_f32, of_operands(kSingle, {s[0], s[1], s[2]})); \
  if (isa::find_row("v_" #name "_f64"))                             \
    verify_exceptions(isa::find_row("v_" #name "_f64")->opcode,     \
                      ORACLE(of_operands(kDouble, {s[0], s[1], s[2]})));
  OPERANDS_OF_EACH_FORMAT(trunc)
  OPERANDS_OF_EACH_FORMAT(ceil)
  OPERANDS_OF_EACH_FORMAT(floor)
  OPERANDS_OF_EACH_FORMAT(rndne)
  OPERANDS_OF_EACH_FORMAT(frexp_mant)
  OPERANDS_OF_EACH_FORMAT(min)
  OPERANDS_OF_EACH_FORMAT(max)
  OPERANDS_OF_EACH_FORMAT(min3)
  OPERANDS_OF_EACH_FORMAT(max3)
  OPERANDS_OF_EACH_FORMAT(med3)
  OPERANDS_OF_EACH_FORMAT(minmax)
  OPERANDS_OF_EACH_FORMAT(maxmin)
#undef OPERANDS_OF_EACH_FORMAT
  RAISES(v_frexp_exp_i16_f16, of_operand(kHalf, s[0]));
  RAISES(v_frexp_exp_i32_f32, of_operand(kSingle, s[0]));
  RAISES(v_frexp_exp_i32_f64, of_operand(kDouble, s[0]));
}

// Guide 16.9: signalling NaNs always, with CLAMP all NaNs.
TEST(Exceptions, Compares) {
  unsigned compares = 0;
  for (const isa::Row& row : isa::rows()) {
    if (row.encoding != isa::Encoding::vopc || row.name.find("_class_") != std::string_view::npos) continue;
    const std::string_view type = row.name.substr(row.name.size() - 4);
    if (type != "_f16" && type != "_f32" && type != "_f64") continue;
    ++compares;
    const Format& f = type == "_f16" ? kHalf : type == "_f32" ? kSingle : kDouble;
    const auto quiet = [&f](const uint64_t* s, RuntimeFloatMode) { return of_operands(f, {s[0], s[1]}); };
    const auto signalling = [&f](const uint64_t* s, RuntimeFloatMode) {
      return of_operands(f, {s[0], s[1]}) | (f.is_nan(s[0]) || f.is_nan(s[1]) ? uint32_t{kInvalid} : 0);
    };
    verify_exceptions(row.opcode, quiet);
    verify_exceptions(row.opcode, signalling, kClamped);
  }
  EXPECT_EQ(compares, 2u * 16 * 3);
}

TEST(Exceptions, ConversionsBetweenFloats) {
  RAISES(v_cvt_f32_f16, of_conversion(kHalf, kSingle, m, s[0]));
  RAISES(v_cvt_f16_f32, of_conversion(kSingle, kHalf, m, s[0]));
  RAISES(v_cvt_f64_f32, of_conversion(kSingle, kDouble, m, s[0]));
  RAISES(v_cvt_f32_f64, of_conversion(kDouble, kSingle, m, s[0]));
  RAISES(v_cvt_pk_rtz_f16_f32,
         of_conversion_rtz(kSingle, kHalf, m, s[0]) | of_conversion_rtz(kSingle, kHalf, m, s[1]));
}

// Guide 16.8: inexact only with CLAMP; IEEE 754-2008 5.8: out of range is invalid.
TEST(Exceptions, ConversionsToIntegers) {
#define TO_INTEGER(name, format, expression)                                                               \
  for (bool clamp : {false, true}) {                                                                       \
    const auto oracle = [clamp](const uint64_t* s, RuntimeFloatMode m) -> uint32_t { return expression; }; \
    verify_exceptions(Opcode::name, oracle,                                                                \
                      {.prepare = [clamp](isa::Instruction& instruction) { instruction.clamp = clamp; },   \
                       .steps = {1, 8, 8},                                                                 \
                       .more_values = values_around_integers(format)});                                    \
  }
  TO_INTEGER(v_cvt_i32_f32, kSingle, to_integer(kSingle, m, s[0], INT32_MIN, INT32_MAX, clamp));
  TO_INTEGER(v_cvt_u32_f32, kSingle, to_integer(kSingle, m, s[0], 0, UINT32_MAX, clamp));
  TO_INTEGER(v_cvt_i32_f64, kDouble, to_integer(kDouble, m, s[0], INT32_MIN, INT32_MAX, clamp));
  TO_INTEGER(v_cvt_u32_f64, kDouble, to_integer(kDouble, m, s[0], 0, UINT32_MAX, clamp));
  TO_INTEGER(v_cvt_i16_f16, kHalf, to_integer(kHalf, m, s[0], INT16_MIN, INT16_MAX, clamp));
  TO_INTEGER(v_cvt_u16_f16, kHalf, to_integer(kHalf, m, s[0], 0, UINT16_MAX, clamp));
  TO_INTEGER(v_cvt_pk_i16_f32, kSingle,
             to_integer(kSingle, m, s[0], INT16_MIN, INT16_MAX, clamp) |
                 to_integer(kSingle, m, s[1], INT16_MIN, INT16_MAX, clamp));
  TO_INTEGER(v_cvt_pk_u16_f32, kSingle,
             to_integer(kSingle, m, s[0], 0, UINT16_MAX, clamp) |
                 to_integer(kSingle, m, s[1], 0, UINT16_MAX, clamp));
  TO_INTEGER(v_cvt_pk_u8_f32, kSingle, to_integer(kSingle, m, s[0], 0, UINT8_MAX, clamp));
#undef TO_INTEGER
}

TEST(Exceptions, ConversionsFromIntegers) {
  RAISES(v_cvt_f32_i32, of_integer(kSingle, m, static_cast<int32_t>(s[0])));
  RAISES(v_cvt_f32_u32, of_integer(kSingle, m, static_cast<uint32_t>(s[0])));
  RAISES(v_cvt_f16_i16, of_integer(kHalf, m, static_cast<int16_t>(s[0])));
  // 65535 rounds to infinity.
  RAISES(v_cvt_f16_u16, of_integer(kHalf, m, static_cast<uint16_t>(s[0])));
}

// Guide 16.12, V_DIV_FIXUP_F32: invalid, denormal and divide by zero of the division s[2] / s[1].
TEST(Exceptions, Division) {
  verify_exceptions(Opcode::v_div_fixup_f16, ORACLE(of_div_fixup(kHalf, m, s[1], s[2])), kFewQuotients);
  verify_exceptions(Opcode::v_div_fixup_f32, ORACLE(of_div_fixup(kSingle, m, s[1], s[2])), kFewQuotients);
  verify_exceptions(Opcode::v_div_fixup_f64, ORACLE(of_div_fixup(kDouble, m, s[1], s[2])), kFewQuotients);
  RAISES_AS_WELL(v_div_fmas_f32, of_div_fmas(kSingle, m, s[0], s[1], s[2], false));
  RAISES_AS_WELL(v_div_fmas_f64, of_div_fmas(kDouble, m, s[0], s[1], s[2], false));
  verify_exceptions(Opcode::v_div_fmas_f32, ORACLE(of_div_fmas(kSingle, m, s[0], s[1], s[2], true)),
                    kWithVcc);
  verify_exceptions(Opcode::v_div_fmas_f64, ORACLE(of_div_fmas(kDouble, m, s[0], s[1], s[2], true)),
                    kWithVcc);
}

// Guide 16.12, V_MULLIT_F32: a product only if s[1] and s[2] say so.
TEST(Exceptions, Lighting) {
  RAISES_AS_WELL(v_mullit_f32, [&] {
    const double b = to_double(kSingle, kSingle.flush_in(s[1], m)),
                 c = to_double(kSingle, kSingle.flush_in(s[2], m));
    const bool dark = !(b > -double(__FLT_MAX__)) || !(c > 0);
    return of_operands(kSingle, {s[0], s[1], s[2]}) | (dark ? 0 : of_fma_dx9(kSingle, m, s[0], s[1], 0));
  }());
}

// ---- What the card rounds in its own way: its result decides ----

template <class Vector, class Function>
uint64_t returned(uint64_t x, RuntimeFloatMode m, Function function) {
  std::array<uint64_t, kLanesPerChunk> lanes;
  lanes.fill(x);
  const RuntimeFloatMode overflowing{m.mode & ~0x800000u};
  return Lane<Vector>::get(function(Lane<Vector>::from(lanes.data()), overflowing), 0);
}
#define RETURNED(Vector, function) \
  returned<Vector>(s[0], m, [](auto x, RuntimeFloatMode mode) { return numeric::function(x, mode); })
#define TRUE_VALUE(expression) \
  [](mpfr_ptr r, Number* x, [[maybe_unused]] mpfr_rnd_t rounding) -> int { return expression; }
// F32 flushes denormal operands whatever MODE says, the others by MODE (guide 16.8).
#define FUNCTION_OF(name, format, Vector, function, keeps_denormals, expression)                  \
  verify_exceptions(Opcode::name,                                                                 \
                    ORACLE(of_function(format, keeps_denormals, s[0], RETURNED(Vector, function), \
                                       TRUE_VALUE(expression))),                                  \
                    {.prepare = {}, .more_values = values_for_functions(format)})
#define FUNCTION(name, function, expression)                                            \
  FUNCTION_OF(v_##name##_f16, kHalf, F16, function, m.denorm_in_f16_f64(), expression); \
  FUNCTION_OF(v_##name##_f32, kSingle, F32, function, false, expression)
#define FUNCTION_F64(name, function, expression) \
  FUNCTION_OF(v_##name##_f64, kDouble, F64, function, m.denorm_in_f16_f64(), expression)

TEST(Exceptions, ReciprocalsAndRoots) {
  FUNCTION(rcp, rcp, mpfr_ui_div(r, 1, x[0], rounding));
  FUNCTION_F64(rcp, rcp, mpfr_ui_div(r, 1, x[0], rounding));
  FUNCTION(sqrt, sqrt, mpfr_sqrt(r, x[0], rounding));
  FUNCTION_F64(sqrt, sqrt, mpfr_sqrt(r, x[0], rounding));
  FUNCTION(rsq, rsq, mpfr_rec_sqrt(r, x[0], rounding));
  FUNCTION_F64(rsq, rsq, mpfr_rec_sqrt(r, x[0], rounding));
}

TEST(Exceptions, ExponentialsAndLogarithms) {
  FUNCTION(exp, exp2, mpfr_exp2(r, x[0], rounding));
  FUNCTION(log, log2, mpfr_log2(r, x[0], rounding));
}

// Arguments count turns. Unlike the others, the F32 forms obey MODE's denormal fields.
TEST(Exceptions, SinesAndCosines) {
  FUNCTION_OF(v_sin_f16, kHalf, F16, sin, m.denorm_in_f16_f64(), mpfr_sinu(r, x[0], 1, rounding));
  FUNCTION_OF(v_cos_f16, kHalf, F16, cos, m.denorm_in_f16_f64(), mpfr_cosu(r, x[0], 1, rounding));
  FUNCTION_OF(v_sin_f32, kSingle, F32, sin, m.denorm_in_f32(), mpfr_sinu(r, x[0], 1, rounding));
  FUNCTION_OF(v_cos_f32, kSingle, F32, cos, m.denorm_in_f32(), mpfr_cosu(r, x[0], 1, rounding));
}

// Guide 16.8, V_RCP_IFLAG_F32: integer divide by zero and nothing else.
TEST(Exceptions, IntegerDivision) {
  RAISES(v_rcp_iflag_f32,
         kSingle.magnitude(s[0]) < kSingle.least_normal() ? uint32_t{kIntegerDivideByZero} : 0);
}

// Guide 7.5, packed math: each half raises its own; guide 7.5, MIX: each source in its own format.
struct PackedCase {
  Opcode opcode;
  unsigned sources;
  ExceptionOracle half;
};
TEST(Exceptions, PackedHalves) {
  const PackedCase cases[] = {
      {Opcode::v_pk_add_f16, 2, ORACLE(of_sum(kHalf, m, s[0], s[1]))},
      {Opcode::v_pk_mul_f16, 2, ORACLE(of_product(kHalf, m, s[0], s[1]))},
      {Opcode::v_pk_fma_f16, 3, ORACLE(of_fma(kHalf, m, s[0], s[1], s[2]))},
      {Opcode::v_pk_fmac_f16, 3, ORACLE(of_fma(kHalf, m, s[0], s[1], s[2]))},
      {Opcode::v_pk_min_f16, 2, ORACLE(of_operands(kHalf, {s[0], s[1]}))},
      {Opcode::v_pk_max_f16, 2, ORACLE(of_operands(kHalf, {s[0], s[1]}))},
  };
  const std::vector<uint64_t>& values = exception_floats(16);
  std::mt19937 random(7);
  for (const PackedCase& c : cases) {
    opcodes_with_oracle().insert(c.opcode);
    const isa::Row& row = richest_row(c.opcode);
    EXPECT_TRUE(raises_exceptions(row)) << row.name;
    isa::Instruction instruction = instruction_of(row);
    for (uint32_t mode : exception_modes())
      for (unsigned round = 0; round < 4000; ++round) {
        uint64_t low[3] = {}, high[3] = {}, words[3] = {};
        for (unsigned i = 0; i < c.sources; ++i) {
          low[i] = values[(round + i * random()) % values.size()];
          high[i] = values[random() % values.size()];
          words[i] = low[i] | high[i] << 16;
        }
        const RuntimeFloatMode m{mode};
        ASSERT_EQ(raised(instruction, words, mode), c.half(low, m) | c.half(high, m))
            << row.name << std::hex << " (0x" << words[0] << ", 0x" << words[1] << ", 0x" << words[2]
            << ") MODE 0x" << mode;
      }
  }
}

TEST(Exceptions, MixedPrecision) {
  const std::vector<uint64_t>&halves = exception_floats(16), &singles = exception_floats(32);
  std::mt19937 random(8);
  for (Opcode opcode : {Opcode::v_fma_mix_f32, Opcode::v_fma_mixlo_f16, Opcode::v_fma_mixhi_f16}) {
    opcodes_with_oracle().insert(opcode);
    const isa::Row& row = richest_row(opcode);
    EXPECT_TRUE(raises_exceptions(row)) << row.name;
    for (uint32_t mode : exception_modes())
      for (unsigned round = 0; round < 8000; ++round) {
        isa::Instruction instruction = instruction_of(row);
        Format formats[3] = {kSingle, kSingle, kSingle};
        uint64_t x[3], words[3];
        for (unsigned i = 0; i < 3; ++i) {
          const bool is_half = random() & 1, in_high_half = random() & 1;
          isa::Operand& source = instruction.operands[i + 1];
          source.high_hi = is_half;
          source.high = in_high_half;
          formats[i] = is_half ? kHalf : kSingle;
          x[i] = (is_half ? halves : singles)[random() % (is_half ? halves : singles).size()];
          words[i] = is_half && in_high_half ? x[i] << 16 | 0x7c01 : x[i];
        }
        ASSERT_EQ(raised(instruction, words, mode),
                  of_mix(formats, RuntimeFloatMode{mode}, x, opcode != Opcode::v_fma_mix_f32))
            << row.name << std::hex << " (0x" << words[0] << ", 0x" << words[1] << ", 0x" << words[2]
            << ") MODE 0x" << mode;
      }
  }
}

// Guide 7.5.1: one sum of two products and an addend.
TEST(Exceptions, DotProducts) {
  struct Case {
    Opcode opcode;
    Format elements, result;
  };
  const Case cases[] = {
      {Opcode::v_dot2_f32_f16, kHalf, kSingle},   {Opcode::v_dot2acc_f32_f16, kHalf, kSingle},
      {Opcode::v_dot2_f32_bf16, kBrain, kSingle}, {Opcode::v_dual_dot2acc_f32_bf16, kBrain, kSingle},
      {Opcode::v_dot2_f16_f16, kHalf, kHalf},     {Opcode::v_dot2_bf16_bf16, kBrain, kBrain},
  };
  std::mt19937 random(9);
  const auto pick = [&](const Format& f) -> uint64_t {
    const std::vector<uint64_t>& values = exception_floats(f.bits == 16 && f.bias == 15 ? 16 : 32);
    const uint64_t value = values[random() % values.size()];
    return f.fraction == kBrain.fraction ? value >> 16 : value;
  };
  for (const Case& c : cases) {
    opcodes_with_oracle().insert(c.opcode);
    const isa::Row& row = richest_row(c.opcode);
    EXPECT_TRUE(raises_exceptions(row)) << row.name;
    isa::Instruction instruction = instruction_of(row);
    for (isa::Operand& operand : instruction.operands)
      operand.high_hi = operand.type == isa::Type::pk_f16 || operand.type == isa::Type::pk_bf16;
    for (uint32_t mode : exception_modes())
      for (unsigned round = 0; round < 8000; ++round) {
        uint64_t x[5];  // src0 low, high; src1 low, high; addend
        for (unsigned i = 0; i < 4; ++i) x[i] = pick(c.elements);
        x[4] = pick(c.result);
        const uint64_t words[3] = {x[0] | x[1] << 16, x[2] | x[3] << 16, x[4]};
        const RuntimeFloatMode m{mode & ~0x800000u};
        uint64_t result;
        const auto halves = [&](unsigned i) { return bits_as<F16>(U16(static_cast<uint16_t>(x[i]))); };
        const auto brains = [&](unsigned i) { return U16(static_cast<uint16_t>(x[i])); };
        const F32 addend = bits_as<F32>(U32(static_cast<uint32_t>(x[4])));
        if (c.result.bits == 32 && c.elements.bias == 15)
          result =
              bits_as<U32>(numeric::dot2_f32_f16(halves(0), halves(1), halves(2), halves(3), addend, m))[0];
        else if (c.result.bits == 32)
          result =
              bits_as<U32>(numeric::dot2_f32_bf16(brains(0), brains(1), brains(2), brains(3), addend, m))[0];
        else if (c.elements.bias == 15)
          result = bits_as<U16>(
              numeric::dot2_f16_f16(halves(0), halves(1), halves(2), halves(3), halves(4), m))[0];
        else
          result = numeric::dot2_bf16_bf16(brains(0), brains(1), brains(2), brains(3), brains(4), m)[0];
        ASSERT_EQ(raised(instruction, words, mode),
                  of_dot(c.elements, c.result, RuntimeFloatMode{mode}, x, result))
            << row.name << std::hex << " (0x" << words[0] << ", 0x" << words[1] << ", 0x" << words[2]
            << ") MODE 0x" << mode;
      }
  }
}

// The last test: whatever can raise an exception was compared with an oracle above.
TEST(Exceptions, EveryRowThatRaisesHasAnOracle) {
  if (::testing::GTEST_FLAG(filter) != "*") GTEST_SKIP() << "needs the tests above";
  for (const isa::Row& row : isa::rows())
    if (raises_exceptions(row)) EXPECT_TRUE(opcodes_with_oracle().contains(row.base)) << row.name;
}

}  // namespace
}  // namespace lockstep::semantics
