#include "numeric/arithmetic.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/numeric/oracle.h"
#include "tests/sweep.h"

namespace lockstep::numeric {
namespace {

using oracle::Format;

template <class Float>
class Arithmetic : public ::testing::Test {};
using Formats = ::testing::Types<F16, F32, F64>;
TYPED_TEST_SUITE(Arithmetic, Formats);

// One operation: chunk form in a runtime mode and in the default mode, and the oracle.
template <class Float>
struct Operation {
  const char* name;
  int operands;
  std::function<Float(Float, Float, Float, RuntimeFloatMode)> chunk;
  std::function<Float(Float, Float, Float)> by_default;
  std::function<uint64_t(const Format&, uint64_t, uint64_t, uint64_t, uint32_t)> oracle;
};

#define LOCKSTEP_TEST_BINARY(name, oracle_expression)                                            \
  {#name, 2, [](Float a, Float b, Float, RuntimeFloatMode m) { return numeric::name(a, b, m); }, \
   [](Float a, Float b, Float) { return numeric::name(a, b, DefaultFloatMode{}); },              \
   [](const Format& f, uint64_t a, uint64_t b, uint64_t, uint32_t m) -> uint64_t {               \
     return oracle_expression;                                                                   \
   }}

// b - a whose first NaN is a's.
uint64_t subrev_oracle(const Format& f, uint64_t a, uint64_t b, uint32_t m) {
  const uint64_t result = oracle::sub(f, b, a, m);
  const uint64_t operands[] = {a, b};
  return f.is_nan(result) ? oracle::first_nan(f, operands, oracle::lane_mode(f, m).ieee) : result;
}

template <class Float>
std::vector<Operation<Float>> operations() {
  return {
      LOCKSTEP_TEST_BINARY(add, oracle::add(f, a, b, m)), LOCKSTEP_TEST_BINARY(sub, oracle::sub(f, a, b, m)),
      LOCKSTEP_TEST_BINARY(subrev, subrev_oracle(f, a, b, m)),
      LOCKSTEP_TEST_BINARY(mul, oracle::mul(f, a, b, m)),
      Operation<Float>{"fma", 3,
                       [](Float a, Float b, Float c, RuntimeFloatMode m) { return numeric::fma(a, b, c, m); },
                       [](Float a, Float b, Float c) { return numeric::fma(a, b, c, DefaultFloatMode{}); },
                       [](const Format& f, uint64_t a, uint64_t b, uint64_t c, uint32_t m) {
                         return oracle::fma(f, a, b, c, m);
                       }}};
}

struct Triple {
  uint64_t a;
  uint64_t b;
  uint64_t c;
};

template <class Float>
void check(const Operation<Float>& operation, std::span<const Triple> inputs, uint32_t mode) {
  const Format& format = oracle::format_of<Float>();
  int failures = 0;
  for (size_t start = 0; start < inputs.size(); start += kLanesPerChunk) {
    std::vector<uint64_t> a, b, c;
    for (size_t i = start; i < std::min(inputs.size(), start + kLanesPerChunk); ++i) {
      a.push_back(inputs[i].a);
      b.push_back(inputs[i].b);
      c.push_back(inputs[i].c);
    }
    const auto x = oracle::vector_of<Float>(a);
    const auto y = oracle::vector_of<Float>(b);
    const auto z = oracle::vector_of<Float>(c);
    const Float result = operation.chunk(x, y, z, RuntimeFloatMode{mode});
    const Float by_default = mode == kDefaultFloatMode ? operation.by_default(x, y, z) : result;
    for (unsigned i = 0; i < a.size(); ++i) {
      const uint64_t expected = operation.oracle(format, a[i], b[i], c[i], mode);
      if (oracle::lane_of(result, i) == expected && oracle::lane_of(by_default, i) == expected) continue;
      ADD_FAILURE() << operation.name << "_" << format.name << std::hex << "(" << a[i] << ", " << b[i] << ", "
                    << c[i] << ") = " << oracle::lane_of(result, i) << ", default "
                    << oracle::lane_of(by_default, i) << ", expected " << expected << "; "
                    << oracle::mode_text(mode);
      if (++failures == 5) return;
    }
  }
}

TYPED_TEST(Arithmetic, EdgesInEveryMode) {
  const Format& format = oracle::format_of<TypeParam>();
  std::vector<Triple> pairs;
  for (const uint64_t a : oracle::edges(format)) {
    for (const uint64_t b : oracle::edges(format)) pairs.push_back({a, b, 0});
  }
  std::vector<Triple> triples;
  for (const uint64_t a : oracle::few_edges(format)) {
    for (const uint64_t b : oracle::few_edges(format)) {
      for (const uint64_t c : oracle::few_edges(format)) triples.push_back({a, b, c});
    }
  }
  for (const uint32_t mode : oracle::all_modes()) {
    for (const auto& operation : operations<TypeParam>()) {
      check<TypeParam>(operation, operation.operands == 2 ? pairs : triples, mode);
      if (this->HasFailure()) return;
    }
  }
}

TYPED_TEST(Arithmetic, RandomInEveryMode) {
  const Format& format = oracle::format_of<TypeParam>();
  std::mt19937_64 random(20230815);
  for (const uint32_t mode : oracle::all_modes()) {
    for (const auto& operation : operations<TypeParam>()) {
      std::vector<Triple> inputs(mode == kDefaultFloatMode ? test::of_sweep(64000, 32000)
                                                           : test::of_sweep(8000, 1600));
      for (auto& input : inputs) {
        input = {oracle::random_input(format, random), oracle::random_input(format, random),
                 oracle::random_input(format, random)};
        // Cancellation: an addend close to the product or the other operand.
        if ((random() & 7) == 0) input.b = input.a ^ format.sign() ^ (random() & 3);
        if ((random() & 7) == 0)
          input.c = oracle::mul(format, input.a, input.b, kDefaultFloatMode) ^ format.sign();
      }
      check<TypeParam>(operation, inputs, mode);
      if (this->HasFailure()) return;
    }
  }
}

// The host decides "tiny" after rounding, which only products just below the smallest normal can tell.
TYPED_TEST(Arithmetic, ProductsAroundTheSmallestNormal) {
  const Format& format = oracle::format_of<TypeParam>();
  std::vector<Triple> inputs;
  for (uint64_t i = 0; i < 64; ++i) {
    for (uint64_t j = 0; j < 64; ++j) {
      inputs.push_back({format.min_normal() + i - 32, format.one() + j - 32, (i & 1) * format.sign()});
      inputs.push_back(
          {(format.min_normal() + i - 32) | format.sign(), format.one() + j - 32, format.sign() + (j & 1)});
    }
  }
  for (const uint32_t mode : oracle::all_modes()) {
    for (const auto& operation : operations<TypeParam>()) check<TypeParam>(operation, inputs, mode);
    if (this->HasFailure()) return;
  }
}

TEST(HalfArithmetic, OverflowClampsByMode) {
  std::vector<Triple> inputs;
  for (const uint64_t a : oracle::edges(oracle::kF16)) {
    for (const uint64_t b : oracle::edges(oracle::kF16))
      inputs.push_back({a, b, oracle::kF16.infinity() - 1});
  }
  for (uint32_t mode : oracle::all_modes()) {
    mode |= 1u << 23;
    for (const auto& operation : operations<F16>()) check<F16>(operation, inputs, mode);
  }
}

template <class Float, class Chunk, class Oracle>
void check_unary(const char* name, std::span<const uint64_t> inputs, Chunk chunk, Oracle oracle) {
  const Format& format = oracle::format_of<Float>();
  int failures = 0;
  for (size_t start = 0; start < inputs.size(); start += kLanesPerChunk) {
    const auto lanes = inputs.subspan(start, std::min<size_t>(kLanesPerChunk, inputs.size() - start));
    const Float result = chunk(oracle::vector_of<Float>(lanes));
    for (unsigned i = 0; i < lanes.size(); ++i) {
      const uint64_t expected = oracle(lanes[i]);
      if (oracle::lane_of(result, i) == expected) continue;
      ADD_FAILURE() << name << "_" << format.name << std::hex << "(" << lanes[i]
                    << ") = " << oracle::lane_of(result, i) << ", expected " << expected;
      if (++failures == 5) return;
    }
  }
}

template <class Float>
std::vector<uint64_t> unary_inputs(size_t random_count) {
  const Format& format = oracle::format_of<Float>();
  std::vector<uint64_t> inputs = oracle::edges(format);
  std::mt19937_64 random(7);
  for (size_t i = 0; i < random_count; ++i) inputs.push_back(oracle::random_input(format, random));
  return inputs;
}

TYPED_TEST(Arithmetic, LdexpInEveryMode) {
  const Format& format = oracle::format_of<TypeParam>();
  const auto inputs = unary_inputs<TypeParam>(test::of_sweep(500, 200));
  std::vector<int32_t> exponents = {0, 1, -1, 24, -24, 64, -64, 1000, -1000, INT32_MAX, INT32_MIN};
  const int width = format.bias + format.fraction;
  for (int i = -3; i <= 3; ++i) {
    for (const int base : {width, -width, 2 * width, -2 * width, format.bias, -format.bias})
      exponents.push_back(base + i);
  }
  for (const uint32_t mode : oracle::all_modes()) {
    for (const int32_t exponent : exponents) {
      check_unary<TypeParam>(
          "ldexp", inputs,
          [&](TypeParam x) { return numeric::ldexp(x, I32(exponent), RuntimeFloatMode{mode}); },
          [&](uint64_t x) { return oracle::ldexp(format, x, exponent, mode); });
      if (this->HasFailure()) FAIL() << "exponent " << exponent << "; " << oracle::mode_text(mode);
    }
  }
}

TYPED_TEST(Arithmetic, FractInEveryMode) {
  const Format& format = oracle::format_of<TypeParam>();
  const auto inputs = unary_inputs<TypeParam>(test::of_sweep(20000, 4000));
  for (const uint32_t mode : oracle::all_modes()) {
    check_unary<TypeParam>(
        "fract", inputs, [&](TypeParam x) { return numeric::fract(x, RuntimeFloatMode{mode}); },
        [&](uint64_t x) { return oracle::fract(format, x, mode); });
    if (this->HasFailure()) FAIL() << oracle::mode_text(mode);
  }
}

float as_float(uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}
uint32_t lane0(F32 x) {
  return __builtin_bit_cast(uint32_t, static_cast<float>(x[0]));
}

// The witnesses captured from gfx1100.
TEST(CapturedArithmetic, SignallingNansAndFlushing) {
  const F32 a = F32(as_float(0x7f801abc));
  const F32 b = F32(as_float(0xffc00222));
  EXPECT_EQ(lane0(add(a, b, RuntimeFloatMode{0x3f0})), 0x7fc01abcu);
  EXPECT_EQ(lane0(add(a, b, RuntimeFloatMode{0x1f0})), 0x7f801abcu);
  EXPECT_EQ(lane0(mul(F32(as_float(0x80800000)), F32(as_float(0x3f7fffff)), RuntimeFloatMode{0x3d0})),
            0x80000000u);
}

TEST(CapturedArithmetic, Dx9Zero) {
  const F32 infinity = F32(as_float(0x7f800000));
  const F32 zero = F32(0.0f);
  const F32 minus_zero = F32(-0.0f);
  const F32 nan = F32(as_float(0x7fc12345));
  const F32 one = F32(1.0f);
  const RuntimeFloatMode nearest{0x3f0};
  const RuntimeFloatMode down{0x3f2};
  EXPECT_EQ(lane0(fma_dx9_zero(zero, infinity, minus_zero, nearest)), 0u);
  EXPECT_EQ(lane0(fma_dx9_zero(zero, infinity, minus_zero, down)), 0x80000000u);
  EXPECT_EQ(lane0(fma_dx9_zero(minus_zero, one, minus_zero, nearest)), 0u);
  EXPECT_EQ(lane0(fma_dx9_zero(nan, zero, one, nearest)), 0x3f800000u);
  EXPECT_EQ(lane0(fma_dx9_zero(one, one, nan, nearest)), 0x7fc12345u);
  // Flushed whatever MODE says, decided on the value rounded with unbounded exponent.
  const F32 least = F32(as_float(0x00800000));
  EXPECT_EQ(lane0(fma_dx9_zero(least, F32(as_float(0x3f7fffff)), zero, nearest)), 0u);
  EXPECT_EQ(lane0(mul_dx9_zero(minus_zero, infinity, nearest)), 0u);
  EXPECT_EQ(lane0(mul_dx9_zero(zero, nan, DefaultFloatMode{})), 0u);
  EXPECT_EQ(lane0(mul_dx9_zero(F32(as_float(1)), F32(as_float(0x7f7fffff)), DefaultFloatMode{})), 0u);
}

}  // namespace
}  // namespace lockstep::numeric
