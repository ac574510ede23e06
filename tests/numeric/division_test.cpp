#include "numeric/division.h"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

#include "numeric/quotient.h"
#include "numeric/square_root.h"
#include "numeric/transcendental.h"
#include "tests/mpfr_rounding.h"
#include "tests/numeric/oracle.h"
#include "tests/sweep.h"

namespace lockstep::numeric {
namespace {

using oracle::Format;
using oracle::kF32;
using oracle::kF64;

constexpr DefaultFloatMode kDefault;

float power(int exponent) {
  return std::ldexp(1.0f, exponent);
}

// Captured on gfx1100: exponents of numerator, denominator, scaled numerator, scaled denominator; the flag.
TEST(DivScale, CapturedPowersOfTwo) {
  constexpr int kFacts[][5] = {
      {-140, 0, -76, 0, 1},   {-10, 127, -10, 63, 1},  {-30, 70, 34, 70, 1},      {-24, 65, -24, 65, 0},
      {100, -20, 100, 44, 1}, {-53, -149, 11, -85, 0}, {-103, -126, -39, -62, 0}, {-102, -126, -102, -126, 0},
      {0, 126, 0, 62, 1},     {31, 126, -33, 62, 0}};
  for (const auto& fact : kFacts) {
    const F32 n = F32(power(fact[0]));
    const F32 d = F32(power(fact[1]));
    const auto scaled_n = div_scale(n, d, n, kDefault);
    const auto scaled_d = div_scale(d, d, n, kDefault);
    EXPECT_EQ(scaled_n.value[0], power(fact[2])) << "2^" << fact[0] << " / 2^" << fact[1];
    EXPECT_EQ(scaled_d.value[0], power(fact[3])) << "2^" << fact[0] << " / 2^" << fact[1];
    EXPECT_EQ(any(scaled_n.needs_scaling), fact[4] == 1) << "2^" << fact[0] << " / 2^" << fact[1];
    EXPECT_EQ(any(scaled_d.needs_scaling), fact[4] == 1) << "2^" << fact[0] << " / 2^" << fact[1];
  }
}

TEST(DivScale, CapturedSpecials) {
  const F32 zero = F32(0.0f);
  const F32 one = F32(1.0f);
  const F32 infinity = splat_bits<F32>(0x7f800000);
  const F32 signalling = splat_bits<F32>(0x7f800001);
  const F32 denormal = splat_bits<F32>(1);
  const auto scale = [](F32 x, F32 d, F32 n, uint32_t mode) {
    return to_bits(div_scale(x, d, n, RuntimeFloatMode{mode}).value)[0];
  };
  EXPECT_EQ(scale(zero, one, zero, 0x3f0), 0xffc00000u);
  EXPECT_EQ(scale(infinity, zero, infinity, 0x3f0), 0xffc00000u);
  EXPECT_EQ(scale(signalling, signalling, zero, 0x3f0), 0xffc00000u);
  EXPECT_EQ(scale(denormal, denormal, one, 0x3c0), 0xffc00000u);
  EXPECT_EQ(scale(infinity, one, infinity, 0x3f0), 0x7f800000u);
  EXPECT_EQ(scale(signalling, one, signalling, 0x3f0), 0x7fc00001u);
  const F64 signalling64 = splat_bits<F64>(0x7ff0000000000001);
  EXPECT_EQ(to_bits(div_scale(signalling64, F64(1.0), signalling64, RuntimeFloatMode{0x1f0}).value)[0],
            0x7ff0000000000001u);
}

TEST(DivFmas, CapturedScales) {
  const Mask all = mask_from_bits(0xffff);
  const auto fmas = [&](float a, float b, float c) {
    return div_fmas(F32(a), F32(b), F32(c), all, kDefault)[0];
  };
  EXPECT_EQ(fmas(0, 0, 1), power(-64));
  EXPECT_EQ(fmas(0, 0, 2), power(65));
  EXPECT_EQ(fmas(1, 2, 0), power(-63));
  EXPECT_EQ(div_fmas(F64(0.0), F64(0.0), F64(2.0), all, kDefault)[0], std::ldexp(1.0, 129));
  EXPECT_EQ(to_bits(div_fmas(F32(0.0f), splat_bits<F32>(0x7f800000), F32(1.0f), all, kDefault))[0],
            0xffc00000u);
}

// Measured: the NaN of a zero numerator or denominator has VCC set, also if a denormal counts as the zero.
TEST(DivScale, CapturedZerosAskForScaling) {
  const auto scales = [](uint32_t d, uint32_t n, uint32_t mode) {
    const F32 numerator = splat_bits<F32>(n), denominator = splat_bits<F32>(d);
    const RuntimeFloatMode m{mode};
    return bits_from_mask(div_scale(numerator, denominator, numerator, m).needs_scaling) == 0xffff &&
           bits_from_mask(div_scale(denominator, denominator, numerator, m).needs_scaling) == 0xffff;
  };
  EXPECT_TRUE(scales(0x3f800000, 0, 0x3f0));
  EXPECT_TRUE(scales(0, 0x3f800000, 0x3f0));
  EXPECT_TRUE(scales(0x80000000, 0x80000000, 0x3f0));
  EXPECT_TRUE(scales(0, 0x7f800000, 0x3f0));
  EXPECT_TRUE(scales(1, 0x3f800000, 0x3c0));
  EXPECT_TRUE(scales(0x3f800000, 0x80000001, 0x3c0));
  EXPECT_FALSE(scales(0x3f800000, 0x3f800000, 0x3f0));
  EXPECT_EQ(bits_from_mask(div_scale(F64(0.0), F64(1.0), F64(0.0), kDefault).needs_scaling), 0xffff);
  EXPECT_EQ(bits_from_mask(div_scale(F64(1.0), F64(1.0), F64(1.0), kDefault).needs_scaling), 0);
}

uint64_t fmas_oracle(const Format& f, uint64_t a, uint64_t b, uint64_t c, bool scaled, uint32_t bits) {
  const uint32_t keeps_inputs = bits | 0x50u;
  const auto finite = f.is_finite(a) && f.is_finite(b) && f.is_finite(c);
  if (!scaled || !finite) return oracle::fma(f, a, b, c, keeps_inputs);
  const auto mode = oracle::lane_mode(f, bits);
  oracle::Real x(64);
  oracle::Real y(64);
  oracle::Real z(64);
  oracle::Real exact(4400);
  oracle::set_exact(x, f, a);
  oracle::set_exact(y, f, b);
  oracle::set_exact(z, f, c);
  mpfr_set_emin(-100000);
  mpfr_set_emax(100000);
  mpfr_fma(exact, x, y, z, mpfr_rounding(mode.round));
  const bool large = (c & f.magnitude()) >= f.one() + f.min_normal();
  const long scale = f.width == 32 ? 64 : 128;
  mpfr_mul_2si(exact, exact, large ? scale : -scale, MPFR_RNDN);
  return oracle::round_exact(f, exact, mode.round, mode.denorm_out);
}

template <class Float>
class Division : public ::testing::Test {};
using Formats = ::testing::Types<F32, F64>;
TYPED_TEST_SUITE(Division, Formats);

TYPED_TEST(Division, FmasInEveryMode) {
  using Float = TypeParam;
  const Format& f = oracle::format_of<Float>();
  std::vector<std::array<uint64_t, 3>> inputs;
  for (const uint64_t a : oracle::few_edges(f)) {
    for (const uint64_t b : oracle::few_edges(f)) {
      for (const uint64_t c : oracle::few_edges(f)) inputs.push_back({a, b, c});
    }
  }
  std::mt19937_64 random(17);
  for (int i = 0; i < 3000; ++i) {
    const uint64_t a = oracle::random_input(f, random);
    const uint64_t b = oracle::random_input(f, random);
    uint64_t c = oracle::random_input(f, random);
    if (i % 3 == 0) c = oracle::mul(f, a, b, kDefaultFloatMode) ^ f.sign();
    // Results that become denormal by the scale.
    const uint64_t field = static_cast<uint64_t>(f.bias - (f.width == 32 ? 62 : 894) - (i & 31));
    if (i % 5 == 0) c = (c & ~f.infinity()) | field << f.fraction;
    inputs.push_back({a, b, c});
  }
  while (inputs.size() % kLanesPerChunk != 0) inputs.push_back({0, 0, 0});
  for (const uint32_t mode : oracle::all_modes()) {
    for (size_t start = 0; start < inputs.size(); start += kLanesPerChunk) {
      std::vector<uint64_t> lanes[3];
      for (unsigned i = 0; i < kLanesPerChunk; ++i) {
        for (int operand = 0; operand < 3; ++operand) lanes[operand].push_back(inputs[start + i][operand]);
      }
      const uint16_t scaled = static_cast<uint16_t>(0xb3d5 * (start / kLanesPerChunk + 1));
      const Float result =
          div_fmas(oracle::vector_of<Float>(lanes[0]), oracle::vector_of<Float>(lanes[1]),
                   oracle::vector_of<Float>(lanes[2]), mask_from_bits(scaled), RuntimeFloatMode{mode});
      for (unsigned i = 0; i < kLanesPerChunk; ++i) {
        ASSERT_EQ(oracle::lane_of(result, i),
                  fmas_oracle(f, lanes[0][i], lanes[1][i], lanes[2][i], scaled >> i & 1, mode))
            << f.name << std::hex << "(" << lanes[0][i] << ", " << lanes[1][i] << ", " << lanes[2][i]
            << ") scaled " << (scaled >> i & 1) << "; " << oracle::mode_text(mode);
      }
    }
  }
}

// The sequences that LLVM emits for an IEEE division: the helpers together must round correctly.
F32 divide(F32 n, F32 d) {
  const auto scaled_d = div_scale(d, d, n, kDefault).value;
  const auto scaled_n = div_scale(n, d, n, kDefault);
  const F32 minus_d = negate(scaled_d);
  const F32 estimate = rcp(scaled_d, kDefault);
  const F32 error = fma(minus_d, estimate, F32(1.0f), kDefault);
  const F32 reciprocal = fma(error, estimate, estimate, kDefault);
  const F32 product = mul(scaled_n.value, reciprocal, kDefault);
  const F32 remainder = fma(minus_d, product, scaled_n.value, kDefault);
  const F32 quotient = fma(remainder, reciprocal, product, kDefault);
  const F32 last = fma(minus_d, quotient, scaled_n.value, kDefault);
  return div_fixup(div_fmas(last, reciprocal, quotient, scaled_n.needs_scaling, kDefault), d, n, kDefault);
}
F64 divide(F64 n, F64 d) {
  const auto scaled_d = div_scale(d, d, n, kDefault).value;
  const auto scaled_n = div_scale(n, d, n, kDefault);
  const F64 minus_d = negate(scaled_d);
  F64 reciprocal = rcp(scaled_d, kDefault);
  for (int step = 0; step < 2; ++step) {
    reciprocal = fma(reciprocal, fma(minus_d, reciprocal, F64(1.0), kDefault), reciprocal, kDefault);
  }
  const F64 product = mul(scaled_n.value, reciprocal, kDefault);
  const F64 remainder = fma(minus_d, product, scaled_n.value, kDefault);
  return div_fixup(div_fmas(remainder, reciprocal, product, scaled_n.needs_scaling, kDefault), d, n,
                   kDefault);
}

uint64_t quotient_oracle(const Format& f, uint64_t n, uint64_t d) {
  const uint64_t operands[] = {n, d};
  if (f.is_nan(n) || f.is_nan(d)) return oracle::first_nan(f, operands, true);
  oracle::Real x(64);
  oracle::Real y(64);
  oracle::Real q(f.fraction + 1);
  oracle::set_exact(x, f, n);
  oracle::set_exact(y, f, d);
  mpfr_set_emin(-100000);
  mpfr_set_emax(100000);
  const int ternary = mpfr_div(q, x, y, MPFR_RNDN);
  if (mpfr_nan_p(static_cast<mpfr_ptr>(q))) return f.default_nan();
  return oracle::encode(f, q, ternary, Round::nearest_even, true, false);
}

TYPED_TEST(Division, WholeDivisionsRoundCorrectly) {
  using Float = TypeParam;
  const Format& f = oracle::format_of<Float>();
  std::vector<uint64_t> n, d;
  for (const uint64_t a : oracle::edges(f)) {
    for (const uint64_t b : oracle::edges(f)) {
      n.push_back(a);
      d.push_back(b);
    }
  }
  std::mt19937_64 random(19);
  for (int i = 0; i < 300000; ++i) {
    n.push_back(oracle::random_input(f, random));
    d.push_back(oracle::random_input(f, random));
  }
  int failures = 0;
  for (size_t start = 0; start + kLanesPerChunk <= n.size(); start += kLanesPerChunk) {
    const Float result = divide(oracle::vector_of<Float>(std::span(n).subspan(start, kLanesPerChunk)),
                                oracle::vector_of<Float>(std::span(d).subspan(start, kLanesPerChunk)));
    for (unsigned i = 0; i < kLanesPerChunk; ++i) {
      const uint64_t expected = quotient_oracle(f, n[start + i], d[start + i]);
      if (oracle::lane_of(result, i) == expected) continue;
      ADD_FAILURE() << f.name << std::hex << " " << n[start + i] << " / " << d[start + i] << " = "
                    << oracle::lane_of(result, i) << ", expected " << expected;
      if (++failures == 5) return;
    }
  }
}

// The translator makes one division of the sequence (numeric/quotient.h).
template <class Float>
void expect_same_quotients(Float n, Float d) {
  const auto expected = to_bits(divide(n, d)), result = to_bits(quotient(n, d));
  for (unsigned lane = 0; lane < kLanesPerChunk; ++lane)
    ASSERT_EQ(result[lane], expected[lane]) << std::hex << to_bits(n)[lane] << " / " << to_bits(d)[lane];
}

TYPED_TEST(Division, WholeDivisionsAreTheHosts) {
  using Float = TypeParam;
  const Format& f = oracle::format_of<Float>();
  std::vector<uint64_t> n, d;
  const auto expect_same = [&] {
    for (size_t start = 0; start + kLanesPerChunk <= n.size() && !this->HasFatalFailure();
         start += kLanesPerChunk)
      expect_same_quotients(oracle::vector_of<Float>(std::span(n).subspan(start, kLanesPerChunk)),
                            oracle::vector_of<Float>(std::span(d).subspan(start, kLanesPerChunk)));
  };
  for (const uint64_t a : oracle::edges(f)) {
    for (const uint64_t b : oracle::edges(f)) {
      n.push_back(a);
      d.push_back(b);
    }
  }
  while (n.size() % kLanesPerChunk != 0) {
    n.push_back(0);
    d.push_back(0);
  }
  expect_same();
  // Every fourth denominator is just below a power of two, which leaves the least room; for every fourth the
  // numerator is chosen so that the quotient is next to a midpoint of two numbers; some are denormal.
  std::mt19937_64 random(23);
  const uint64_t hidden = uint64_t{1} << f.fraction;
  const unsigned shift = static_cast<unsigned>(f.fraction) + 2;
  for (int round = 0; round < test::of_sweep(2'000'000, 10'000) && !this->HasFatalFailure(); ++round) {
    n.clear();
    d.clear();
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
      uint64_t a = oracle::random_input(f, random), b = oracle::random_input(f, random);
      if (lane % 4 == 1) b = (b & ~(hidden - 1)) | (hidden - 1 - random() % 8);
      if (lane % 4 == 2) {
        // midpoint * y = x * 2^shift + a small odd number
        const uint64_t y = (random() & (hidden - 1)) | hidden | 1;
        uint64_t inverse = y;
        for (int step = 0; step < 6; ++step) inverse *= 2 - y * inverse;
        const uint64_t midpoint = (random() % 9 * 2 - 9) * inverse & ((uint64_t{1} << shift) - 1);
        const auto product = static_cast<unsigned __int128>(midpoint) * y;
        const auto x = static_cast<uint64_t>((product + (uint64_t{1} << (shift - 1))) >> shift);
        b = (b & ~(hidden - 1)) | (y & (hidden - 1));
        a = (a & ~(hidden - 1)) | ((x < hidden ? x << 1 : x) & (hidden - 1));
      }
      if (lane % 8 == 3) a &= ~f.infinity();
      if (lane % 8 == 7) b &= ~f.infinity();
      n.push_back(a);
      d.push_back(b);
    }
    expect_same();
  }
}

// Half a unit of a denormal quotient: the steps round what they have, which is a little less.
TEST(Division, QuotientsThatAreScaledBackAreTheSteps) {
  const F64 n = splat_bits<F64>(0x000bfffffffffffd), d = splat_bits<F64>(0x4068c00000000000);
  EXPECT_EQ(to_bits(n / d)[0], 17059089497616u);
  EXPECT_EQ(to_bits(divide(n, d))[0], 17059089497615u);
  expect_same_quotients(n, d);
}

// What the last step needs of the reciprocal (numeric/quotient.h): it is the nearest number.
TEST(Division, ReciprocalsOfFloatsBecomeTheNearest) {
  for (uint32_t significand = 0; significand < 1u << 23; significand += kLanesPerChunk) {
    U32 bits;
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) bits[lane] = (significand + lane) | 127u << 23;
    const F32 d = bits_as<F32>(bits);
    const F32 estimate = rcp(d, kDefault);
    const F32 error = fma(negate(d), estimate, F32(1.0f), kDefault);
    const auto reciprocal = to_bits(fma(error, estimate, estimate, kDefault)), nearest = to_bits(1.0f / d);
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane)
      ASSERT_EQ(reciprocal[lane], nearest[lane]) << std::hex << bits[lane];
  }
}

// The sequence that LLVM emits for a root, and the translator makes one of the host of
// (numeric/square_root.h).
TEST(SquareRoot, OfDoublesIsTheHosts) {
  const Format& f = oracle::format_of<F64>();
  const auto steps = [](F64 x) {
    const F64 estimate = rsq(x, kDefault);
    const F64 first = mul(x, estimate, kDefault), half = mul(estimate, F64(0.5), kDefault);
    const F64 error = fma(negate(half), first, F64(0.5), kDefault);
    const F64 reciprocal = fma(half, error, half, kDefault);
    F64 root = fma(first, error, first, kDefault);
    for (int step = 0; step < 2; ++step)
      root = fma(fma(negate(root), root, x, kDefault), reciprocal, root, kDefault);
    return root;
  };
  const auto whole_steps = [&](F64 x) {
    const Mask is_small = mask_of(x < 0x1p-767);
    const F64 scaled = ldexp(x, select(is_small, I32(256), I32(0)), kDefault);
    const F64 root = ldexp(steps(scaled), select(is_small, I32(-128), I32(0)), kDefault);
    return select(class_test(scaled, U32(0x260)), scaled, root);
  };
  constexpr uint64_t kOne = uint64_t{1023} << 52, kHidden = uint64_t{1} << 52, kFraction = kHidden - 1;
  std::vector<uint64_t> inputs = oracle::edges(f);
  // The two kinds whose roots are nearest to a midpoint, and their neighbours.
  for (uint64_t exponent = 0; exponent < 0x7ff; ++exponent)
    for (const uint64_t fraction : {uint64_t{0}, uint64_t{1}, uint64_t{2}, kFraction - 1, kFraction})
      inputs.push_back(exponent << 52 | fraction);
  std::mt19937_64 random(29);
  const int count = test::of_sweep(20'000'000, 200'000);
  for (int i = 0; i < count; ++i) {
    if (i % 2 == 0) {
      inputs.push_back(oracle::random_input(f, random));
    } else {
      // Next to the square of a midpoint.
      const auto root = static_cast<unsigned __int128>((random() & kFraction) | kHidden);
      const auto square = root * root + root;
      const bool is_odd = (square >> 105) != 0;
      const auto rounded = static_cast<uint64_t>(square >> (is_odd ? 53 : 52));
      inputs.push_back((rounded & kFraction) + kOne + (is_odd ? kHidden : 0));
    }
  }
  while (inputs.size() % kLanesPerChunk != 0) inputs.push_back(0);
  for (size_t start = 0; start < inputs.size(); start += kLanesPerChunk) {
    const auto x = oracle::vector_of<F64>(std::span(inputs).subspan(start, kLanesPerChunk));
    // As they are, with zeros and infinities in a chunk, and each as an ordinary number.
    const F64 ordinary = bits_as<F64>((to_bits(x) & (kFraction | kHidden)) + (kOne & ~kHidden));
    // And without a sign, so that a chunk of denormals is not the exception.
    for (const F64& each : {x, ordinary, abs(x), bits_as<F64>(to_bits(abs(x)) & kFraction)}) {
      const auto expected = to_bits(steps(each)), result = to_bits(square_root(each)),
                 whole = to_bits(whole_steps(each)), whole_result = to_bits(whole_square_root(each));
      for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
        ASSERT_EQ(result[lane], expected[lane]) << std::hex << to_bits(each)[lane];
        ASSERT_EQ(whole_result[lane], whole[lane]) << std::hex << to_bits(each)[lane];
      }
    }
  }
}

// All significands of both parities of exponents; and next to where the host's root is not the steps'.
TEST(SquareRoot, OfFloatsIsTheHosts) {
  const auto steps = [](F32 x) {
    const F32 root = numeric::sqrt(x, kDefault);
    const F32 below = bits_as<F32>(to_bits(root) - 1), above = bits_as<F32>(to_bits(root) + 1);
    const I32 takes_below = fma(negate(below), root, x, kDefault) <= 0.0f,
              takes_above = fma(negate(above), root, x, kDefault) > 0.0f;
    const F32 result = takes_below ? below : root;
    return takes_above ? above : result;
  };
  const auto check = [&](U32 bits) {
    const U32 expected = to_bits(steps(bits_as<F32>(bits))),
              result = to_bits(square_root(bits_as<F32>(bits)));
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane)
      ASSERT_EQ(result[lane], expected[lane]) << std::hex << bits[lane];
  };
  for (const uint32_t first : {0x3f800000u, 0x0f800000u, 0x0f000000u - 0x4000, 0x7f000000u})
    for (uint32_t i = 0; i < (first == 0x3f800000 ? 1u << 24 : 1u << 15); i += kLanesPerChunk)
      check(lane_numbers() + (first + i));
  for (uint32_t exponent = 0; exponent < 512; ++exponent)
    for (const uint32_t fraction : {0u, 1u, 2u, 0x12345u, 0x400000u, 0x7ffff0u})
      check(lane_numbers() + (exponent << 23 | fraction));
  const U32 kinds = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x807fffff,
                     0x00800000, 0xbf800000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7f800001,
                     0xffc12345, 0xffffffff, 0x7fffffff, 0x40800000};
  check(kinds);
  check(__builtin_elementwise_max(kinds, U32(0x0f800000)));
}

template <class Float>
uint64_t fixup(uint64_t q, uint64_t d, uint64_t n, uint32_t mode) {
  using Word = typename Layout<Float>::Word;
  return to_bits(div_fixup(splat_bits<Float>(static_cast<Word>(q)), splat_bits<Float>(static_cast<Word>(d)),
                           splat_bits<Float>(static_cast<Word>(n)), RuntimeFloatMode{mode}))[0];
}

TEST(DivFixup, CapturedCases) {
  constexpr uint32_t kNearest = 0x3f0;
  constexpr uint32_t kZero = 0x3f3;
  constexpr uint32_t kDown = 0x3f2;
  const uint64_t nan = 0x7fc00000;
  const auto bits = [](float x) { return __builtin_bit_cast(uint32_t, x); };
  // Overflow and underflow by the operands alone.
  EXPECT_EQ(fixup<F32>(nan, bits(power(-130)), bits(power(100)), kNearest), 0x7f800000u);
  EXPECT_EQ(fixup<F32>(nan, bits(power(-130)), bits(power(100)), kZero), 0x7f7fffffu);
  EXPECT_EQ(fixup<F32>(nan, bits(power(120)), bits(-power(-100)), kDown), 0x80000001u);
  EXPECT_EQ(fixup<F32>(nan, bits(power(120)), bits(-power(-100)), kNearest), 0x80000000u);
  // The numerator's NaN wins, quieted.
  EXPECT_EQ(fixup<F32>(0, 0x7fc00011, 0x7f800022, kNearest), 0x7fc00022u);
  EXPECT_EQ(fixup<F32>(0, 0x7fc00011, 0x3f800000, kNearest), 0x7fc00011u);
  EXPECT_EQ(fixup<F32>(0, 0, 0x80000000, kNearest), 0xffc00000u);
  EXPECT_EQ(fixup<F32>(0, 0x7f800000, 0xff800000, kNearest), 0xffc00000u);
  EXPECT_EQ(fixup<F16>(0, 0, 0, kNearest), 0xfe00u);
  // A NaN quotient of ordinary operands takes the path of an overflow.
  EXPECT_EQ(fixup<F32>(nan, bits(1.0f), bits(1.0f), kNearest), 0x7f800000u);
  EXPECT_EQ(fixup<F32>(nan, bits(-1.0f), bits(1.0f), kNearest), 0xff800000u);
  EXPECT_EQ(fixup<F32>(0x7f800001, bits(3.0f), bits(-2.0f), kZero), 0xff7fffffu);
  EXPECT_EQ(fixup<F64>(0x7ff8000000000000, 0x3ff0000000000000, 0xbff0000000000000, kNearest),
            0xfff0000000000000u);
  EXPECT_EQ(fixup<F16>(0x7e01, 0x3c00, 0xbc00, kNearest), 0xfe01u);  // measured for F32 and F64 alone
  // Signs come from the operands; zeros and infinities.
  EXPECT_EQ(fixup<F32>(bits(-3.0f), bits(1.0f), bits(3.0f), kNearest), bits(3.0f));
  EXPECT_EQ(fixup<F32>(bits(3.0f), bits(-1.0f), bits(3.0f), kNearest), bits(-3.0f));
  EXPECT_EQ(fixup<F32>(nan, 0, bits(-1.0f), kNearest), 0xff800000u);
  EXPECT_EQ(fixup<F32>(nan, 0xff800000, bits(1.0f), kNearest), 0x80000000u);
  EXPECT_EQ(fixup<F16>(0x7e00, 0, 0x3c00, kNearest), 0x7c00u);
  // A denormal quotient stays, a denormal denominator is flushed by mode.
  EXPECT_EQ(fixup<F32>(5, bits(1.0f), bits(1.0f), 0x3c0), 5u);
  EXPECT_EQ(fixup<F32>(5, 1, bits(1.0f), 0x3c0), 0x7f800000u);
}

// A chunk of ordinary numbers takes a shorter way than one with an infinity in it.
template <class Float>
void check_ordinary(std::initializer_list<int> exponents) {
  using L = Layout<Float>;
  using Bits = BitsOf<Float>;
  const auto number = [](int exponent, uint32_t significand) {
    return splat_bits<Float>((static_cast<decltype(Bits{}[0] + 0)>(L::kBias + exponent) << L::kFraction) +
                             significand);
  };
  const auto expect_same = [](auto function, Float a, Float b, Float c) {
    const auto shorter = function(a, b, c);
    for (Float* source : {&a, &b, &c}) (*source)[0] = std::numeric_limits<float>::infinity();
    const auto longer = function(a, b, c);
    for (unsigned lane = 1; lane < kLanesPerChunk; ++lane)
      ASSERT_EQ(to_bits(shorter.value)[lane], to_bits(longer.value)[lane])
          << std::hex << to_bits(b)[1] << " " << to_bits(c)[1];
    ASSERT_EQ(bits_from_mask(shorter.needs_scaling) & 0xfffe, bits_from_mask(longer.needs_scaling) & 0xfffe);
  };
  const auto scale = [](Float x, Float d, Float n) { return div_scale(x, d, n, kDefault); };
  const auto fixup = [](Float q, Float d, Float n) {
    return Scaled<Float>{div_fixup(q, d, n, kDefault), Mask(false)};
  };
  for (const int d : exponents) {
    for (const int n : exponents) {
      const Float denominator = number(d, 5), numerator = -number(n, 77);
      expect_same(scale, denominator, denominator, numerator);
      expect_same(scale, numerator, denominator, numerator);
      expect_same(fixup, number(n - d, 3), denominator, numerator);
      expect_same(fixup, splat_bits<Float>(L::kDefaultNan), denominator, numerator);
    }
  }
}
TEST(Division, OfOrdinaryNumbers) {
  check_ordinary<F32>({-126, -60, -49, -48, -47, -46, -45, -1, 0, 20, 45, 46, 47, 48, 49, 60, 127});
  check_ordinary<F64>(
      {-1022, -400, -385, -384, -383, -382, -381, -2, 0, 5, 381, 382, 383, 384, 385, 400, 1023});
}

TEST(TrigPreop, SegmentsOfTwoOverPi) {
  // Segment 0 is 2/pi cut to 53 bits; segment 1 follows where it ended.
  const F64 one = F64(1.0);
  EXPECT_EQ(to_bits(trig_preop_f64(one, U32(0)))[0], 0x3fe45f306dc9c882u);
  EXPECT_EQ(to_bits(trig_preop_f64(one, U32(1)))[0], 0x3c94a7f09d5f47d4u);
  oracle::Real exact(3000);
  mpfr_const_pi(exact, MPFR_RNDN);
  mpfr_ui_div(exact, 2, exact, MPFR_RNDN);
  for (int exponent = 0; exponent < 2047; exponent += 13) {
    const F64 x = splat_bits<F64>(static_cast<uint64_t>(exponent) << 52 | 0x123456789abcd);
    for (uint32_t segment = 0; segment < 32; ++segment) {
      const int shift = static_cast<int>(segment) * 53 + (exponent > 1077 ? exponent - 1077 : 0);
      oracle::Real rest(3000);
      mpfr_mul_2si(rest, exact, shift > 1201 ? 1201 : shift, MPFR_RNDN);
      mpfr_frac(rest, rest, MPFR_RNDN);
      mpfr_mul_2si(rest, rest, 53, MPFR_RNDN);
      mpfr_trunc(rest, rest);
      // Only 1201 bits are stored.
      const int missing = shift + 53 - 1201;
      if (missing > 0) {
        mpfr_mul_2si(rest, rest, -missing, MPFR_RNDN);
        mpfr_trunc(rest, rest);
        mpfr_mul_2si(rest, rest, missing, MPFR_RNDN);
      }
      if (shift >= 1201) mpfr_set_zero(rest, 1);
      mpfr_mul_2si(rest, rest, -53 - shift + (exponent >= 1968 ? 128 : 0), MPFR_RNDN);
      ASSERT_EQ(to_bits(trig_preop_f64(x, U32(segment)))[0],
                oracle::round_exact(kF64, rest, Round::to_zero, true))
          << "exponent " << exponent << " segment " << segment;
    }
  }
}

}  // namespace
}  // namespace lockstep::numeric
