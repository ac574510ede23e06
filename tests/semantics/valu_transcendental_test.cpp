// Transcendental functions: special values of guide 16.8 and distance from MPFR. The division steps: values
// measured on gfx1100, and the whole sequence that compilers emit, which must round correctly. (numeric/ is
// tested bit by bit.)
#include <cmath>

#include "semantics/vop1_transcendental.h"
#include "semantics/vop2_float.h"
#include "semantics/vop3_division.h"
#include "semantics/vop3_float.h"
#include "valu_float_driver.h"

namespace lockstep::semantics {
namespace {

using namespace testing;

template <class Vector>
Vector splat(uint64_t bits) {
  uint64_t lanes[kLanesPerChunk];
  for (uint64_t& lane : lanes) lane = bits;
  return Lane<Vector>::from(lanes);
}
template <class Body, class Vector, class Mode = DefaultFloatMode>
uint64_t at(uint64_t bits, Mode mode = {}) {
  return Lane<Vector>::get(Body::eval(splat<Vector>(bits), mode), 6);
}

struct Special {
  uint64_t argument, result;
};
template <class Body, class Vector>
void check(std::initializer_list<Special> specials) {
  for (const auto& [argument, result] : specials)
    EXPECT_EQ((at<Body, Vector>(argument)), result) << std::hex << argument << " in " << __PRETTY_FUNCTION__;
}

TEST(ValuTranscendental, SpecialValuesOfSingles) {
  check<v_exp_f32, F32>({{0xff800000, 0}, {0x80000000, 0x3f800000}, {0x7f800000, 0x7f800000}});
  check<v_log_f32, F32>({{0xff800000, 0xffc00000},
                         {0xbf800000, 0xffc00000},
                         {0x80000000, 0xff800000},
                         {0, 0xff800000},
                         {0x3f800000, 0},
                         {0x7f800000, 0x7f800000}});
  check<v_rcp_f32, F32>({{0xff800000, 0x80000000},
                         {0xc0000000, 0xbf000000},
                         {0x80000000, 0xff800000},
                         {0, 0x7f800000},
                         {0x7f800000, 0}});
  check<v_rcp_iflag_f32, F32>({{0xc0000000, 0xbf000000}, {0, 0x7f800000}});
  check<v_rsq_f32, F32>({{0xff800000, 0xffc00000},
                         {0x80000000, 0xff800000},
                         {0, 0x7f800000},
                         {0x40800000, 0x3f000000},
                         {0x7f800000, 0}});
  check<v_sqrt_f32, F32>({{0xff800000, 0xffc00000},
                          {0x80000000, 0x80000000},
                          {0, 0},
                          {0x40800000, 0x40000000},
                          {0x7f800000, 0x7f800000}});
  check<v_sin_f32, F32>({{0xff800000, 0xffc00000},
                         {0xff7fffff, 0},
                         {0x80000000, 0x80000000},
                         {0x3e800000, 0x3f800000},
                         {0x7f800000, 0xffc00000}});
  check<v_cos_f32, F32>({{0xff800000, 0xffc00000},
                         {0xff7fffff, 0x3f800000},
                         {0x80000000, 0x3f800000},
                         {0x3e800000, 0},
                         {0x7f800000, 0xffc00000}});
}

TEST(ValuTranscendental, SpecialValuesOfHalves) {
  check<v_exp_f16, F16>({{0xfc00, 0}, {0x8000, 0x3c00}, {0x7c00, 0x7c00}});
  check<v_log_f16, F16>(
      {{0xfc00, 0xfe00}, {0xbc00, 0xfe00}, {0x8000, 0xfc00}, {0, 0xfc00}, {0x3c00, 0}, {0x7c00, 0x7c00}});
  check<v_rcp_f16, F16>({{0xfc00, 0x8000}, {0xc000, 0xb800}, {0x8000, 0xfc00}, {0, 0x7c00}, {0x7c00, 0}});
  check<v_rsq_f16, F16>({{0xfc00, 0xfe00}, {0x8000, 0xfc00}, {0, 0x7c00}, {0x4400, 0x3800}, {0x7c00, 0}});
  check<v_sqrt_f16, F16>({{0xfc00, 0xfe00}, {0x8000, 0x8000}, {0, 0}, {0x4400, 0x4000}, {0x7c00, 0x7c00}});
  check<v_sin_f16, F16>(
      {{0xfc00, 0xfe00}, {0xfbff, 0}, {0x8000, 0x8000}, {0x3400, 0x3c00}, {0x7bff, 0}, {0x7c00, 0xfe00}});
  check<v_cos_f16, F16>({{0xfc00, 0xfe00},
                         {0xfbff, 0x3c00},
                         {0x8000, 0x3c00},
                         {0x3400, 0},
                         {0x7bff, 0x3c00},
                         {0x7c00, 0xfe00}});
}

// Distance in units in the last place, for results that are normal in both.
double ulps(const Format& f, uint64_t got, uint64_t expected) {
  return std::fabs(double(int64_t(f.magnitude(got)) - int64_t(f.magnitude(expected))));
}

template <class Body, class Vector>
void check_near(const Format& f, double tolerance, const Compute& compute, bool flushes_denormals) {
  std::mt19937_64 random(5);
  std::vector<uint64_t> arguments = float_values(f.bits);
  for (int i = 0; i < 4000; ++i) arguments.push_back(random() & (f.sign() * 2 - 1));
  // Around one, where logarithms are small and exponentials interesting.
  for (int i = 0; i < 4000; ++i)
    arguments.push_back((uint64_t(f.bias - 4) << f.fraction) + random() % (8ull << f.fraction) +
                        (random() & 1 ? f.sign() : 0));
  for (uint64_t x : arguments) {
    if (f.is_nan(x)) {
      EXPECT_EQ((at<Body, Vector>(x)), x | f.quiet()) << std::hex << x << __PRETTY_FUNCTION__;
      continue;
    }
    RuntimeFloatMode mode{kDefaultFloatMode};
    if (flushes_denormals) mode.mode &= ~0x30u;
    const uint64_t got = at<Body, Vector>(x), expected = calculate(f, mode, {x}, compute);
    if (got == expected) continue;
    EXPECT_EQ(f.is_negative(got), f.is_negative(expected)) << std::hex << x;
    EXPECT_LE(ulps(f, got, expected), tolerance)
        << std::hex << x << " got " << got << " expected " << expected << __PRETTY_FUNCTION__;
  }
}

const Compute kReciprocal = [](mpfr_ptr r, Number* s, mpfr_rnd_t d) { return mpfr_ui_div(r, 1, s[0], d); };
const Compute kRoot = [](mpfr_ptr r, Number* s, mpfr_rnd_t d) { return mpfr_sqrt(r, s[0], d); };
// v_rsq of -0 is -infinity, MPFR gives +infinity.
const Compute kReciprocalRoot = [](mpfr_ptr r, Number* s, mpfr_rnd_t d) {
  if (mpfr_zero_p(static_cast<mpfr_ptr>(s[0]))) {
    mpfr_set_inf(r, mpfr_signbit(static_cast<mpfr_ptr>(s[0])) ? -1 : 1);
    return 0;
  }
  return mpfr_rec_sqrt(r, s[0], d);
};
const Compute kExponential = [](mpfr_ptr r, Number* s, mpfr_rnd_t d) { return mpfr_exp2(r, s[0], d); };
const Compute kLogarithm = [](mpfr_ptr r, Number* s, mpfr_rnd_t d) { return mpfr_log2(r, s[0], d); };

TEST(ValuTranscendental, WithinOneUlp) {
  check_near<v_rcp_f32, F32>(kSingle, 1, kReciprocal, true);
  check_near<v_rcp_iflag_f32, F32>(kSingle, 1, kReciprocal, true);
  check_near<v_rsq_f32, F32>(kSingle, 1, kReciprocalRoot, true);
  check_near<v_sqrt_f32, F32>(kSingle, 1, kRoot, true);
  check_near<v_exp_f32, F32>(kSingle, 1, kExponential, true);
  check_near<v_log_f32, F32>(kSingle, 1, kLogarithm, true);
  check_near<v_rcp_f16, F16>(kHalf, 1, kReciprocal, false);
  check_near<v_rsq_f16, F16>(kHalf, 1, kReciprocalRoot, false);
  check_near<v_sqrt_f16, F16>(kHalf, 1, kRoot, false);
  check_near<v_exp_f16, F16>(kHalf, 1, kExponential, false);
  check_near<v_log_f16, F16>(kHalf, 1, kLogarithm, false);
  // The hardware promises 2^29 units; the bodies are much closer.
  check_near<v_rcp_f64, F64>(kDouble, 1, kReciprocal, false);
  check_near<v_rsq_f64, F64>(kDouble, 1, kReciprocalRoot, false);
  check_near<v_sqrt_f64, F64>(kDouble, 1, kRoot, false);
}

TEST(ValuTranscendental, SineAndCosineOfTurns) {
  std::mt19937_64 random(9);
  for (int i = 0; i < 4000; ++i) {
    const uint32_t bits =
        uint32_t(0x3a000000u + random() % 0x0a000000u) | (i % 2 ? 0x80000000u : 0);  // 2^-11 to 2^9
    const double turns = to_double(kSingle, bits) * 2 * M_PI;
    EXPECT_NEAR(to_double(kSingle, (at<v_sin_f32, F32>(bits))), std::sin(turns), 2e-7 + 1e-12)
        << std::hex << bits;
    EXPECT_NEAR(to_double(kSingle, (at<v_cos_f32, F32>(bits))), std::cos(turns), 2e-7 + 1e-12)
        << std::hex << bits;
    const uint16_t half = 0x0400 + random() % 0x5000;
    const double half_turns = to_double(kHalf, half) * 2 * M_PI;
    EXPECT_NEAR(to_double(kHalf, (at<v_sin_f16, F16>(half))), std::sin(half_turns), 5.1e-4)
        << std::hex << half;
    EXPECT_NEAR(to_double(kHalf, (at<v_cos_f16, F16>(half))), std::cos(half_turns), 5.1e-4)
        << std::hex << half;
  }
}

uint64_t power(int exponent) {
  return exponent >= -126 ? uint64_t(exponent + 127) << 23 : 1ull << (exponent + 149);
}

TEST(ValuDivision, MeasuredScaling) {
  struct Case {
    int numerator, denominator, scaled_numerator, scaled_denominator;
    bool mask;
  };
  // Exponents of powers of two.
  const Case cases[] = {
      {-140, 0, -76, 0, true},       {-10, 127, -10, 63, true},       {-30, 70, 34, 70, true},
      {-24, 65, -24, 65, false},     {100, -20, 100, 44, true},       {-53, -149, 11, -85, false},
      {-103, -126, -39, -62, false}, {-102, -126, -102, -126, false}, {0, 126, 0, 62, true},
      {31, 126, -33, 62, false},
  };
  for (const Case& c : cases) {
    const F32 n = splat<F32>(power(c.numerator)), d = splat<F32>(power(c.denominator));
    const auto of_n = v_div_scale_f32::eval(n, d, n, DefaultFloatMode{}),
               of_d = v_div_scale_f32::eval(d, d, n, DefaultFloatMode{});
    EXPECT_EQ(Lane<F32>::get(of_n.value, 2), power(c.scaled_numerator))
        << c.numerator << ' ' << c.denominator;
    EXPECT_EQ(Lane<F32>::get(of_d.value, 2), power(c.scaled_denominator))
        << c.numerator << ' ' << c.denominator;
    EXPECT_EQ(bits_from_mask(of_n.mask), c.mask ? 0xffff : 0) << c.numerator << ' ' << c.denominator;
    EXPECT_EQ(bits_from_mask(of_d.mask), c.mask ? 0xffff : 0) << c.numerator << ' ' << c.denominator;
  }
}

TEST(ValuDivision, MeasuredFusedScaling) {
  const auto fmas = [](double a, double b, double c, bool scale) {
    return v_div_fmas_f32::eval(F32(float(a)), F32(float(b)), F32(float(c)),
                                mask_from_bits(scale ? 0xffff : 0), DefaultFloatMode{})[4];
  };
  EXPECT_EQ(fmas(0, 0, 1, true), 0x1p-64f);
  EXPECT_EQ(fmas(0, 0, 2, true), 0x1p65f);
  EXPECT_EQ(fmas(1, 2, 0, true), 0x1p-63f);
  EXPECT_EQ(fmas(3, 2, 1, false), 7.0f);
  const F64 wide = v_div_fmas_f64::eval(F64(0), F64(0), F64(2), mask_from_bits(1), DefaultFloatMode{});
  EXPECT_EQ(wide[0], 0x1p129);
  EXPECT_EQ(wide[1], 2.0);  // lanes without the mask are not scaled
}

// The sequence that LLVM emits for a division.
F32 divide(F32 n, F32 d) {
  const DefaultFloatMode mode;
  const auto scaled_d = v_div_scale_f32::eval(d, d, n, mode), scaled_n = v_div_scale_f32::eval(n, d, n, mode);
  const F32 minus_d = -scaled_d.value, guess = v_rcp_f32::eval(scaled_d.value, mode);
  const F32 better = v_fma_f32::eval(v_fma_f32::eval(minus_d, guess, F32(1), mode), guess, guess, mode);
  const F32 quotient = v_mul_f32::eval(scaled_n.value, better, mode);
  const F32 corrected =
      v_fma_f32::eval(v_fma_f32::eval(minus_d, quotient, scaled_n.value, mode), better, quotient, mode);
  const F32 rest = v_fma_f32::eval(minus_d, corrected, scaled_n.value, mode);
  return v_div_fixup_f32::eval(v_div_fmas_f32::eval(rest, better, corrected, scaled_n.mask, mode), d, n,
                               mode);
}
F64 divide(F64 n, F64 d) {
  const DefaultFloatMode mode;
  const auto scaled_d = v_div_scale_f64::eval(d, d, n, mode), scaled_n = v_div_scale_f64::eval(n, d, n, mode);
  const F64 minus_d = -scaled_d.value, guess = v_rcp_f64::eval(scaled_d.value, mode);
  const F64 better = v_fma_f64::eval(guess, v_fma_f64::eval(minus_d, guess, F64(1), mode), guess, mode);
  const F64 best = v_fma_f64::eval(better, v_fma_f64::eval(minus_d, better, F64(1), mode), better, mode);
  const F64 quotient = v_mul_f64::eval(scaled_n.value, best, mode);
  const F64 rest = v_fma_f64::eval(minus_d, quotient, scaled_n.value, mode);
  return v_div_fixup_f64::eval(v_div_fmas_f64::eval(rest, best, quotient, scaled_n.mask, mode), d, n, mode);
}

uint64_t quotient(const Format& f, uint64_t n, uint64_t d) {
  return calculate(f, {kDefaultFloatMode}, {n, d}, [](mpfr_ptr r, Number* s, mpfr_rnd_t direction) {
    return mpfr_div(r, s[0], s[1], direction);
  });
}

TEST(ValuDivision, WholeSequenceRoundsCorrectly) {
  verify(
      "division of singles", +[](F32 n, F32 d) { return divide(n, d); },
      [](Operands s) -> Expected { return quotient(kSingle, s[0], s[1]); });
  verify(
      "division of doubles", +[](F64 n, F64 d) { return divide(n, d); },
      [](Operands s) -> Expected { return quotient(kDouble, s[0], s[1]); });
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    uint64_t n[kLanesPerChunk], d[kLanesPerChunk];
    for (unsigned i = 0; i < kLanesPerChunk; ++i) n[i] = random(), d[i] = random();
    const F32 singles = divide(Lane<F32>::from(n), Lane<F32>::from(d));
    const F64 doubles = divide(Lane<F64>::from(n), Lane<F64>::from(d));
    for (unsigned i = 0; i < kLanesPerChunk; ++i) {
      ASSERT_EQ(Lane<F32>::get(singles, i), quotient(kSingle, uint32_t(n[i]), uint32_t(d[i])))
          << std::hex << uint32_t(n[i]) << '/' << uint32_t(d[i]);
      ASSERT_EQ(Lane<F64>::get(doubles, i), quotient(kDouble, n[i], d[i])) << std::hex << n[i] << '/' << d[i];
    }
  }
}

// A half's division: quotient in single precision, rounded, fixed up.
TEST(ValuDivision, HalfFixup) {
  verify(
      "v_div_fixup_f16",
      +[](F16 q, F16 d, F16 n) { return v_div_fixup_f16::eval(q, d, n, DefaultFloatMode{}); },
      [](Operands s) -> Expected {
        const uint64_t sign = (s[1] ^ s[2]) & kHalf.sign(), d = kHalf.magnitude(s[1]),
                       n = kHalf.magnitude(s[2]);
        if (kHalf.is_nan(s[2])) return s[2] | kHalf.quiet();
        if (kHalf.is_nan(s[1])) return s[1] | kHalf.quiet();
        if ((d == 0 && n == 0) || (d == kHalf.infinity() && n == kHalf.infinity()))
          return kHalf.default_nan();
        if (d == 0 || n == kHalf.infinity()) return sign | kHalf.infinity();
        if (n == 0 || d == kHalf.infinity()) return sign;
        return sign | kHalf.magnitude(s[0]);
      });
}

// Segments of 2/pi put together give 2/pi.
TEST(ValuDivision, SegmentsOfTwoOverPi) {
  Number sum, part, exact;
  mpfr_set_zero(sum, 1);
  for (uint32_t segment = 0; segment < 3; ++segment) {
    mpfr_set_d(part, v_trig_preop_f64::eval(F64(1.0), U32(segment))[8], MPFR_RNDN);
    mpfr_add(sum, sum, part, MPFR_RNDN);
  }
  mpfr_const_pi(exact, MPFR_RNDN);
  mpfr_ui_div(exact, 2, exact, MPFR_RNDN);
  mpfr_sub(exact, exact, sum, MPFR_RNDN);
  EXPECT_GE(mpfr_sgn(static_cast<mpfr_ptr>(exact)), 0);
  EXPECT_LT(mpfr_get_d(exact, MPFR_RNDN), 0x1p-158);
}

}  // namespace
}  // namespace lockstep::semantics
