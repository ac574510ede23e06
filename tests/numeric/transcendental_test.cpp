#include "numeric/transcendental.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "numeric/fast_transcendental.h"
#include "numeric/transcendental_reference.h"
#include "tests/numeric/oracle.h"
#include "tests/numeric/row_lookup.h"
#include "tests/sweep.h"

namespace lockstep::numeric {
namespace {

// The hash of the captures: FNV-1a's constants over whole words.
struct Digest {
  uint64_t value = 14695981039346656037u;
  void add(uint32_t word) { value = (value ^ word) * 1099511628211u; }
  void add(F32 chunk) {
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) add(bits_as<U32>(chunk)[lane]);
  }
};

const U32 kLane = lane_numbers();
constexpr DefaultFloatMode kDefault;

F32 from_bits(uint32_t first) {
  return bits_as<F32>(kLane + first);
}

TEST(TranscendentalDigest, RcpOfOneToTwo) {
  Digest digest;
  for (uint32_t i = 0; i < 1u << 23; i += kLanesPerChunk)
    digest.add(rcp(from_bits(0x3f800000 + i), kDefault));
  EXPECT_EQ(digest.value, 0xd54ec24992572df9u);
}

TEST(TranscendentalDigest, RsqOfOneToFour) {
  Digest digest;
  for (uint32_t i = 0; i < 1u << 24; i += kLanesPerChunk)
    digest.add(rsq(from_bits(0x3f800000 + i), kDefault));
  EXPECT_EQ(digest.value, 0x010bc79eb6e48cafu);
}

uint64_t exp_digest(uint32_t count, float step) {
  Digest digest;
  for (uint32_t i = 0; i < count; i += kLanesPerChunk) {
    digest.add(exp2(convert<F32>(kLane + i) * step, kDefault));
  }
  return digest.value;
}

TEST(TranscendentalDigest, ExpOfFractions) {
  EXPECT_EQ(exp_digest(1u << 24, 0x1p-24f), 0x68959bb684f42e5fu);
  EXPECT_EQ(exp_digest(1u << 24, -0x1p-24f), 0x88b75684494db8d3u);
  EXPECT_EQ(exp_digest(1u << 23, 0x1p-23f), 0xef14981b949b3960u);
}

TEST(TranscendentalDigest, LogOfHalfToTwo) {
  Digest digest;
  for (uint32_t i = 0x3f000000; i < 0x40000000; i += kLanesPerChunk) digest.add(log2(from_bits(i), kDefault));
  EXPECT_EQ(digest.value, 0xc33a54efbae098beu);
  Digest upper;
  for (uint32_t i = 0x3f800000; i < 0x40000000; i += kLanesPerChunk) upper.add(log2(from_bits(i), kDefault));
  EXPECT_EQ(upper.value, 0xdcabe314d2964004u);
}

template <class Chunk, class Reference>
void check_range(const char* name, uint32_t first, uint64_t count, Chunk chunk, Reference reference,
                 uint32_t stride = 1) {
  int failures = 0;
  for (uint64_t i = 0; i < count; i += kLanesPerChunk) {
    const U32 bits = (kLane + static_cast<uint32_t>(i)) * stride + first;
    const U32 result = bits_as<U32>(chunk(bits_as<F32>(bits)));
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
      const uint32_t expected = reference(bits[lane]);
      if (result[lane] == expected) continue;
      ADD_FAILURE() << name << std::hex << "(" << bits[lane] << ") = " << result[lane] << ", expected "
                    << expected;
      if (++failures == 5) return;
    }
  }
}

// All inputs with LOCKSTEP_EXHAUSTIVE set, else every 251st of them (a prime, so that all exponents and rows
// are met).
template <class Chunk, class Reference>
void check_all(const char* name, Chunk chunk, Reference reference) {
  const bool exhaustive = std::getenv("LOCKSTEP_EXHAUSTIVE") != nullptr;
  const uint32_t stride = exhaustive ? 1 : 251;
  check_range(name, 0, (uint64_t{1} << 32) / stride, chunk, reference, stride);
}

uint32_t quieted(uint32_t x, uint32_t result) {
  return (x & 0x7fffffff) > 0x7f800000 ? x | 0x00400000 : result;
}

#define LOCKSTEP_TEST_AGAINST_REFERENCE(name, function)                  \
  TEST(TranscendentalF32, name) {                                        \
    check_all(                                                           \
        #function, [](F32 x) { return numeric::function(x, kDefault); }, \
        [](uint32_t x) { return quieted(x, reference::function(x)); });  \
  }
LOCKSTEP_TEST_AGAINST_REFERENCE(Rcp, rcp)
LOCKSTEP_TEST_AGAINST_REFERENCE(Rsq, rsq)
LOCKSTEP_TEST_AGAINST_REFERENCE(Sqrt, sqrt)
LOCKSTEP_TEST_AGAINST_REFERENCE(Exp2, exp2)
LOCKSTEP_TEST_AGAINST_REFERENCE(Log2, log2)

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
TEST(TranscendentalF32, RowsInRegisters) {
  if (!has_avx512()) GTEST_SKIP() << "the host has no AVX-512";
  EXPECT_EQ(lockstep_test_row_lookups(), 0);
}
TEST(TranscendentalF32, ByMasks) {
  if (!has_avx512()) GTEST_SKIP() << "the host has no AVX-512";
  EXPECT_EQ(lockstep_test_functions_by_masks(), 0);
}

// Small integers, whose reciprocals and roots often are ties, are in no doubt.
TEST(TranscendentalF32, TiesOfSmallIntegers) {
  for (uint32_t first = 1; first < 64; first += kLanesPerChunk) {
    const U32 bits = to_bits(convert<F32>(kLane + first));
    for (const U32 sum : {detail::rcp_sum(bits), detail::rsq_sum(bits)})
      EXPECT_FALSE(any(mask_of((detail::ties_to_even(sum, bits) & 510) == 0))) << first;
  }
}

TEST(TranscendentalF32, EverySignificandOfSqrt) {
  check_range("sqrt", 0x3f800000, 1u << 24, [](F32 x) { return sqrt(x, kDefault); }, reference::sqrt);
}

// Where the logarithm has rows of its own, and on both sides of that.
TEST(TranscendentalF32, EveryArgumentOfLog2NextToOne) {
  check_range("log2", 0x3f7b0000, 0xa0000, [](F32 x) { return log2(x, kDefault); }, reference::log2);
}

// Each kind of argument beside all others.
TEST(TranscendentalF32, SpecialsOfLog2InOneChunk) {
  U32 bits = {0,          0x80000000, 1,          0x807fffff, 0x00800000, 0x80800000, 0xbf800000, 0x7f7fffff,
              0x7f800000, 0xff800000, 0x3f800000, 0x3f7fffff, 0x3f800001, 0x40490fdb, 0x7fc00001, 0xffc12345};
  for (unsigned turn = 0; turn < kLanesPerChunk; ++turn) {
    const U32 result = to_bits(log2(bits_as<F32>(bits), kDefault));
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane)
      EXPECT_EQ(result[lane], quieted(bits[lane], reference::log2(bits[lane]))) << std::hex << bits[lane];
    bits = __builtin_shufflevector(bits, bits, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0);
  }
}

// NaNs keep their bits unless IEEE quiets them.
TEST(TranscendentalF32, NansByMode) {
  const F32 signalling = splat_bits<F32>(0xff812345);
  const RuntimeFloatMode not_ieee{kDefaultFloatMode & ~0x200u};
  const auto check_nan = [&](auto function) {
    EXPECT_EQ(to_bits(function(signalling, kDefault))[3], 0xffc12345u);
    EXPECT_EQ(to_bits(function(signalling, not_ieee))[3], 0xff812345u);
  };
  check_nan([](F32 x, auto m) { return rcp(x, m); });
  check_nan([](F32 x, auto m) { return rsq(x, m); });
  check_nan([](F32 x, auto m) { return numeric::sqrt(x, m); });
  check_nan([](F32 x, auto m) { return numeric::exp2(x, m); });
  check_nan([](F32 x, auto m) { return numeric::log2(x, m); });
  check_nan([](F32 x, auto m) { return numeric::sin(x, m); });
  check_nan([](F32 x, auto m) { return numeric::cos(x, m); });
}

TEST(SineCosine, VectorAgainstReference) {
  for (const uint32_t mode : {0x3f0u, 0x3d0u, 0x3e0u, 0x3c0u}) {
    const RuntimeFloatMode m{mode};
    for (const bool cosine : {false, true}) {
      const auto chunk = [&](F32 x) { return cosine ? numeric::cos(x, m) : numeric::sin(x, m); };
      const auto oracle = [&](uint32_t x) {
        return quieted(x, reference::sin_or_cos(x, cosine, m.denorm_in_f32(), m.denorm_out_f32()));
      };
      const bool exhaustive = std::getenv("LOCKSTEP_EXHAUSTIVE") != nullptr;
      const uint32_t stride = exhaustive ? 1 : 1999;
      check_range(cosine ? "cos" : "sin", 0, (uint64_t{1} << 32) / stride, chunk, oracle, stride);
      check_range(cosine ? "cos" : "sin", 0, 1 << 12, chunk, oracle);
      check_range(cosine ? "cos" : "sin", 0x39c00000 - 4096, 1 << 13, chunk, oracle);
      // One turn in steps that meet all rows and both reflections.
      check_range(cosine ? "cos" : "sin", 0x3a000000, (0x3f900000 - 0x3a000000) / 61, chunk, oracle, 61);
      // All that is near the sine's zeros at half a turn and a whole one, where it is reflected.
      check_range(cosine ? "cos" : "sin", 0x3ef80000, 0x80000, chunk, oracle);
      check_range(cosine ? "cos" : "sin", 0x3f7c0000, 0x40000, chunk, oracle);
      check_range(cosine ? "cos" : "sin", 0xbe000000, (0x02000000) / 61, chunk, oracle, 61);
    }
  }
}

TEST(SineCosine, CapturedSpecials) {
  const auto sine = [](uint32_t x, uint32_t mode) {
    return to_bits(sin(splat_bits<F32>(x), RuntimeFloatMode{mode}))[0];
  };
  const auto cosine = [](uint32_t x, uint32_t mode) {
    return to_bits(cos(splat_bits<F32>(x), RuntimeFloatMode{mode}))[0];
  };
  EXPECT_EQ(sine(1, 0x3f0), 6u);
  EXPECT_EQ(sine(0x80000001, 0x3c0), 0x80000000u);
  EXPECT_EQ(sine(0x7f800000, 0x3f0), 0xffc00000u);
  EXPECT_EQ(cosine(0xff800000, 0x3f0), 0xffc00000u);
  EXPECT_EQ(sine(0xcb000000, 0x3f0), 0u);
  EXPECT_EQ(cosine(0x4b000000, 0x3f0), 0x3f800000u);
  EXPECT_EQ(sine(0x3e800000, 0x3f0), 0x3f800000u);  // a quarter turn
  EXPECT_EQ(cosine(0x3f000000, 0x3f0), 0xbf800000u);
}

// The stated accuracy: sine and cosine within 1.25e-7 of the truth.
TEST(SineCosine, Accuracy) {
  double worst = 0;
  oracle::Real turn(80);
  oracle::Real truth(80);
  for (int i = 0; i < 200000; ++i) {
    const float x = static_cast<float>(i) * 7.3e-6f - 0.7f;
    mpfr_const_pi(turn, MPFR_RNDN);
    mpfr_mul_d(turn, turn, 2.0 * static_cast<double>(x), MPFR_RNDN);
    mpfr_sin(truth, turn, MPFR_RNDN);
    const auto bits = reference::sin_or_cos(std::bit_cast<uint32_t>(x), false, true, true);
    mpfr_sub_d(truth, truth, static_cast<double>(std::bit_cast<float>(bits)), MPFR_RNDN);
    worst = std::max(worst, std::abs(mpfr_get_d(truth, MPFR_RNDN)));
  }
  EXPECT_LT(worst, 1.26e-7);
}

// Halves: the F32 rule on the exact source, rounded once; all inputs in every denormal mode.
uint64_t half_oracle(uint64_t x, uint32_t mode, bool can_overflow, uint32_t (*function)(uint32_t)) {
  const oracle::Format& f = oracle::kF16;
  const auto m = oracle::lane_mode(f, mode);
  if (!m.denorm_in) x = f.flush(x);
  if (f.is_nan(x)) return m.ieee ? x | f.quiet() : x;
  const uint32_t wide = function(std::bit_cast<uint32_t>(static_cast<float>(f.value(x))));
  if (oracle::kF32.is_nan(wide)) return f.default_nan();
  oracle::Real value(64);
  oracle::set_exact(value, oracle::kF32, wide);
  uint64_t result = oracle::round_exact(f, value, Round::nearest_even, true, false);
  if (!m.denorm_out) result = f.flush(result);
  if (can_overflow && m.fp16_overflow_clamps && f.is_infinite(result) && f.is_finite(x)) --result;
  return result;
}

template <class Chunk>
void check_halves(const char* name, bool can_overflow, uint32_t (*function)(uint32_t), Chunk chunk) {
  uint64_t modes = 0;
  for (const uint32_t base : oracle::all_modes()) {
    if ((base & 3) != 0) continue;
    for (const uint32_t mode : {base, base | 1u << 23, base | 0xf}) {
      // Of the share every mode has other inputs than the next one.
      const uint64_t turn = modes++;
      for (uint64_t first = 0; first < 65536; first += kLanesPerChunk) {
        if (!test::is_in_share(first / kLanesPerChunk + turn, 4)) continue;
        const F16 x = bits_as<F16>(convert<U16>(kLane) + static_cast<uint16_t>(first));
        const U16 result = to_bits(chunk(x, RuntimeFloatMode{mode}));
        for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
          ASSERT_EQ(result[lane], half_oracle(first + lane, mode, can_overflow, function))
              << name << std::hex << " " << first + lane << "; " << oracle::mode_text(mode);
        }
      }
    }
  }
}

TEST(TranscendentalF16, EveryInput) {
  check_halves("rcp", true, reference::rcp, [](F16 x, auto m) { return rcp(x, m); });
  check_halves("rsq", true, reference::rsq, [](F16 x, auto m) { return rsq(x, m); });
  check_halves("sqrt", false, reference::sqrt, [](F16 x, auto m) { return numeric::sqrt(x, m); });
  check_halves("log2", true, reference::log2, [](F16 x, auto m) { return numeric::log2(x, m); });
  check_halves("exp2", true, reference::exp2_to_odd, [](F16 x, auto m) { return numeric::exp2(x, m); });
  check_halves(
      "sin", false, [](uint32_t x) { return reference::sin_or_cos(x, false, true, true); },
      [](F16 x, auto m) { return numeric::sin(x, m); });
  check_halves(
      "cos", false, [](uint32_t x) { return reference::sin_or_cos(x, true, true, true); },
      [](F16 x, auto m) { return numeric::cos(x, m); });
}

// rcp and sqrt round correctly; rsq stays below one unit in the last place (0.96 measured over a million
// inputs).
TEST(TranscendentalF64, Accuracy) {
  const oracle::Format& f = oracle::kF64;
  std::mt19937_64 random(41);
  double worst = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint64_t> lanes;
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
      uint64_t x = oracle::random_input(f, random);
      if (f.is_nan(x) || f.is_zero(x) || f.is_infinite(x)) x = f.one();
      lanes.push_back(x & f.magnitude());
    }
    const auto x = oracle::vector_of<F64>(lanes);
    const F64 reciprocal = rcp(x, kDefault);
    const F64 root = numeric::sqrt(x, kDefault);
    const F64 inverse_root = rsq(x, kDefault);
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
      oracle::Real source(64);
      oracle::set_exact(source, f, lanes[lane]);
      oracle::Real truth(200);
      mpfr_set_emin(-100000);
      mpfr_ui_div(truth, 1, source, MPFR_RNDN);
      ASSERT_EQ(oracle::lane_of(reciprocal, lane), oracle::round_exact(f, truth, Round::nearest_even, true));
      mpfr_sqrt(truth, source, MPFR_RNDN);
      ASSERT_EQ(oracle::lane_of(root, lane), oracle::round_exact(f, truth, Round::nearest_even, true));
      mpfr_rec_sqrt(truth, source, MPFR_RNDN);
      const mpfr_exp_t unit = mpfr_get_exp(static_cast<mpfr_ptr>(truth)) - 53;
      mpfr_sub_d(truth, truth, inverse_root[lane], MPFR_RNDN);
      mpfr_mul_2si(truth, truth, -unit, MPFR_RNDN);
      worst = std::max(worst, std::abs(mpfr_get_d(truth, MPFR_RNDN)));
    }
  }
  EXPECT_LT(worst, 0.51);
  RecordProperty("worst_rsq_units_in_the_last_place", std::to_string(worst));
}

// What fast math gives: within one unit of the exact form's neighbourhood; the card's zeros, infinities and
// NaNs. lockstep-numeric-errors measures its errors over all arguments.
TEST(FastMath, KeepsWhatIsNoRoundingAndStaysNear) {
  struct Form {
    const char* name;
    F32 (*exact)(F32);
    F32 (*quick)(F32);
    double (*truth)(double);
  };
#define LOCKSTEP_FORM(function, truth)                              \
  {#function, [](F32 x) { return numeric::function(x, kDefault); }, \
   [](F32 x) { return fast::function(x, kDefault); }, [](double x) { return truth; }}
  const Form forms[] = {
      LOCKSTEP_FORM(rcp, 1 / x),         LOCKSTEP_FORM(rsq, 1 / std::sqrt(x)),
      LOCKSTEP_FORM(sqrt, std::sqrt(x)), LOCKSTEP_FORM(exp2, std::exp2(x)),
      LOCKSTEP_FORM(log2, std::log2(x)),
  };
#undef LOCKSTEP_FORM
  for (const Form& form : forms) {
    int failures = 0;
    for (uint64_t i = 0; i < (uint64_t{1} << 32) / 1009 && failures < 5; i += kLanesPerChunk) {
      const U32 bits = (kLane + static_cast<uint32_t>(i)) * 1009;
      const F32 x = bits_as<F32>(bits), exact = form.exact(x), quick = form.quick(x);
      for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
        const float e = exact[lane], q = quick[lane];
        if (!std::isfinite(e) || e == 0) {
          // Also where the card overflows or flushes a little sooner or later.
          if (to_bits(exact)[lane] == to_bits(quick)[lane]) continue;
        } else {
          const double truth = form.truth(x[lane]);
          const double unit = std::ldexp(1.0, std::max(std::ilogb(truth), -126) - 23);
          if (std::fabs(static_cast<double>(q) - truth) <= unit) continue;
        }
        ADD_FAILURE() << form.name << std::hex << "(" << bits[lane] << ") = " << to_bits(quick)[lane]
                      << ", exact " << to_bits(exact)[lane];
        ++failures;
      }
    }
  }
}

TEST(FastMath, SineAndCosine) {
  const auto bits = [](F32 x) { return to_bits(x)[0]; };
  for (const uint32_t mode : {0x3f0u, 0x3c0u})
    for (const uint32_t x : {0u, 0x80000000u, 0x3e800000u, 0x3f000000u, 0xbf400000u, 0x4b000000u, 0x7f800000u,
                             0xff800000u, 0x7f812345u, 1u, 0x80000001u}) {
      const RuntimeFloatMode m{mode};
      const F32 chunk = splat_bits<F32>(x);
      EXPECT_EQ(bits(fast::cos(chunk, m)) & 0x7fffffff, bits(numeric::cos(chunk, m)) & 0x7fffffff)
          << std::hex << x;
      EXPECT_EQ(bits(fast::sin(chunk, m)) & 0x7fffffff, bits(numeric::sin(chunk, m)) & 0x7fffffff)
          << std::hex << x;
    }
  for (int i = 0; i < 100000; ++i) {
    const float x = static_cast<float>(i) * 7.3e-6f - 0.37f;
    const double turns = 6.283185307179586476925 * static_cast<double>(x);
    EXPECT_NEAR(fast::sin(F32(x), kDefault)[0], std::sin(turns), 6.1e-8);
    EXPECT_NEAR(fast::cos(F32(x), kDefault)[0], std::cos(turns), 6.1e-8);
  }
}

TEST(TranscendentalF64, Specials) {
  const auto bits = [](F64 x) { return to_bits(x)[0]; };
  EXPECT_EQ(bits(rsq(F64(-1.0), kDefault)), 0xfff8000000000000u);
  EXPECT_EQ(bits(numeric::sqrt(F64(-1.0), kDefault)), 0xfff8000000000000u);
  EXPECT_EQ(bits(numeric::sqrt(F64(-0.0), kDefault)), 0x8000000000000000u);
  EXPECT_EQ(bits(rcp(F64(-0.0), kDefault)), 0xfff0000000000000u);
  EXPECT_EQ(bits(rsq(F64(-0.0), kDefault)), 0xfff0000000000000u);
  EXPECT_EQ(bits(rcp(splat_bits<F64>(0x7ff0000000000001), kDefault)), 0x7ff8000000000001u);
  EXPECT_EQ(bits(rcp(splat_bits<F64>(0x7ff0000000000001), RuntimeFloatMode{0x1f0})), 0x7ff0000000000001u);
  EXPECT_EQ(bits(rcp(splat_bits<F64>(1), RuntimeFloatMode{0x330})), 0x7ff0000000000000u);
}

}  // namespace
}  // namespace lockstep::numeric
