// Minimum, maximum, median, compares, classes, rounding to integers, taking apart: lane by lane against
// formulas on bits.
#include <gtest/gtest.h>

#include <functional>

#include "numeric/arithmetic.h"
#include "tests/numeric/oracle.h"
#include "tests/sweep.h"

namespace lockstep::numeric {
namespace {

using oracle::Format;
using oracle::LaneMode;

template <class Float>
class Select : public ::testing::Test {};
using Formats = ::testing::Types<F16, F32, F64>;
TYPED_TEST_SUITE(Select, Formats);

uint64_t flushed(const Format& f, uint64_t x, const LaneMode& mode) {
  return mode.denorm_in ? x : f.flush(x);
}
uint64_t quieted(const Format& f, uint64_t x, const LaneMode& mode) {
  return f.is_nan(x) && mode.ieee ? x | f.quiet() : x;
}
// Sign-magnitude order with -0 below +0.
int64_t order(const Format& f, uint64_t x) {
  const auto size = static_cast<int64_t>(x & f.magnitude());
  return f.is_negative(x) ? -size - 1 : size;
}

uint64_t extreme(const Format& f, uint64_t a, uint64_t b, bool largest, const LaneMode& mode) {
  a = flushed(f, a, mode);
  b = flushed(f, b, mode);
  if (mode.ieee && f.is_signalling(a)) return a | f.quiet();
  if (mode.ieee && f.is_signalling(b)) return b | f.quiet();
  if (f.is_nan(b)) return a;
  if (f.is_nan(a)) return b;
  const bool a_first = largest ? order(f, a) > order(f, b) : order(f, a) < order(f, b);
  return a_first ? a : b;
}
uint64_t smallest_of(const Format& f, uint64_t a, uint64_t b, const LaneMode& m) {
  return extreme(f, a, b, false, m);
}
uint64_t largest_of(const Format& f, uint64_t a, uint64_t b, const LaneMode& m) {
  return extreme(f, a, b, true, m);
}

bool equal_numbers(const Format& f, uint64_t a, uint64_t b) {
  return a == b || (f.is_zero(a) && f.is_zero(b));
}

uint64_t median_of(const Format& f, uint64_t a, uint64_t b, uint64_t c, const LaneMode& m) {
  a = flushed(f, a, m);
  b = flushed(f, b, m);
  c = flushed(f, c, m);
  if (f.is_nan(a) || f.is_nan(b) || f.is_nan(c)) return smallest_of(f, smallest_of(f, a, b, m), c, m);
  const uint64_t top = largest_of(f, largest_of(f, a, b, m), c, m);
  if (equal_numbers(f, top, a)) return largest_of(f, b, c, m);
  if (equal_numbers(f, top, b)) return largest_of(f, a, c, m);
  return largest_of(f, a, b, m);
}

std::vector<uint32_t> modes_with_default() {
  return oracle::all_modes();
}

template <class Float>
std::vector<std::array<uint64_t, 3>> triples() {
  const Format& f = oracle::format_of<Float>();
  std::vector<std::array<uint64_t, 3>> list;
  for (const uint64_t a : oracle::few_edges(f)) {
    for (const uint64_t b : oracle::few_edges(f)) {
      for (const uint64_t c : oracle::few_edges(f)) list.push_back({a, b, c});
    }
  }
  for (const uint64_t a : oracle::edges(f)) {
    for (const uint64_t b : oracle::edges(f)) list.push_back({a, b, a});
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < test::of_sweep(20000, 5000); ++i) {
    list.push_back(
        {oracle::random_input(f, random), oracle::random_input(f, random), oracle::random_input(f, random)});
  }
  while (list.size() % kLanesPerChunk != 0) list.push_back({0, 0, 0});
  return list;
}

// Result lanes as uint64_t, whatever the result type.
template <class Result>
uint64_t result_lane(const Result& result, unsigned lane) {
  if constexpr (sizeof(Result) == sizeof(Mask)) {
    return bits_from_mask(result) >> lane & 1;
  } else {
    return oracle::lane_of(result, lane);
  }
}

template <class Float, class Chunk, class Oracle>
void check(const char* name, std::span<const std::array<uint64_t, 3>> inputs, Chunk chunk, Oracle oracle,
           const std::vector<uint32_t>& modes = modes_with_default()) {
  const Format& f = oracle::format_of<Float>();
  for (const uint32_t mode : modes) {
    const LaneMode lane_mode = oracle::lane_mode(f, mode);
    int failures = 0;
    for (size_t start = 0; start < inputs.size(); start += kLanesPerChunk) {
      std::vector<uint64_t> lanes[3];
      for (unsigned i = 0; i < kLanesPerChunk; ++i) {
        for (int operand = 0; operand < 3; ++operand) lanes[operand].push_back(inputs[start + i][operand]);
      }
      const auto a = oracle::vector_of<Float>(lanes[0]);
      const auto b = oracle::vector_of<Float>(lanes[1]);
      const auto c = oracle::vector_of<Float>(lanes[2]);
      const auto result = chunk(a, b, c, RuntimeFloatMode{mode});
      auto by_default = result;
      if (mode == kDefaultFloatMode) by_default = chunk(a, b, c, DefaultFloatMode{});
      for (unsigned i = 0; i < kLanesPerChunk; ++i) {
        const uint64_t expected = oracle(f, lanes[0][i], lanes[1][i], lanes[2][i], lane_mode);
        if (result_lane(result, i) == expected && result_lane(by_default, i) == expected) continue;
        ADD_FAILURE() << name << "_" << f.name << std::hex << "(" << lanes[0][i] << ", " << lanes[1][i]
                      << ", " << lanes[2][i] << ") = " << result_lane(result, i) << ", default "
                      << result_lane(by_default, i) << ", expected " << expected << "; "
                      << oracle::mode_text(mode);
        if (++failures == 3) return;
      }
    }
  }
}

TYPED_TEST(Select, MinMaxMed) {
  using Float = TypeParam;
  const auto inputs = triples<Float>();
  check<Float>(
      "min", inputs, [](Float a, Float b, Float, auto m) { return numeric::min(a, b, m); },
      [](const Format& f, uint64_t a, uint64_t b, uint64_t, const LaneMode& m) {
        return smallest_of(f, a, b, m);
      });
  check<Float>(
      "max", inputs, [](Float a, Float b, Float, auto m) { return numeric::max(a, b, m); },
      [](const Format& f, uint64_t a, uint64_t b, uint64_t, const LaneMode& m) {
        return largest_of(f, a, b, m);
      });
  check<Float>(
      "min3", inputs, [](Float a, Float b, Float c, auto m) { return min3(a, b, c, m); },
      [](const Format& f, uint64_t a, uint64_t b, uint64_t c, const LaneMode& m) {
        return smallest_of(f, smallest_of(f, a, b, m), c, m);
      });
  check<Float>(
      "max3", inputs, [](Float a, Float b, Float c, auto m) { return max3(a, b, c, m); },
      [](const Format& f, uint64_t a, uint64_t b, uint64_t c, const LaneMode& m) {
        return largest_of(f, largest_of(f, a, b, m), c, m);
      });
  check<Float>(
      "minmax", inputs, [](Float a, Float b, Float c, auto m) { return minmax(a, b, c, m); },
      [](const Format& f, uint64_t a, uint64_t b, uint64_t c, const LaneMode& m) {
        return largest_of(f, smallest_of(f, a, b, m), c, m);
      });
  check<Float>(
      "maxmin", inputs, [](Float a, Float b, Float c, auto m) { return maxmin(a, b, c, m); },
      [](const Format& f, uint64_t a, uint64_t b, uint64_t c, const LaneMode& m) {
        return smallest_of(f, largest_of(f, a, b, m), c, m);
      });
  check<Float>("med3", inputs, [](Float a, Float b, Float c, auto m) { return med3(a, b, c, m); }, median_of);
}

// -1, 0, 1, or 2 if unordered.
int compared(const Format& f, uint64_t a, uint64_t b, const LaneMode& m) {
  a = flushed(f, a, m);
  b = flushed(f, b, m);
  if (f.is_nan(a) || f.is_nan(b)) return 2;
  if (equal_numbers(f, a, b)) return 0;
  return order(f, a) < order(f, b) ? -1 : 1;
}

TYPED_TEST(Select, Compares) {
  using Float = TypeParam;
  const auto inputs = triples<Float>();
#define LOCKSTEP_CHECK_COMPARE(name, expression)                                             \
  check<Float>(                                                                              \
      #name, inputs, [](Float a, Float b, Float, auto m) { return numeric::name(a, b, m); }, \
      [](const Format& f, uint64_t a, uint64_t b, uint64_t, const LaneMode& m) -> uint64_t { \
        const int order = compared(f, a, b, m);                                              \
        (void)order;                                                                         \
        return expression;                                                                   \
      })
  LOCKSTEP_CHECK_COMPARE(f, 0);
  LOCKSTEP_CHECK_COMPARE(lt, order == -1);
  LOCKSTEP_CHECK_COMPARE(eq, order == 0);
  LOCKSTEP_CHECK_COMPARE(le, order == -1 || order == 0);
  LOCKSTEP_CHECK_COMPARE(gt, order == 1);
  LOCKSTEP_CHECK_COMPARE(lg, order == -1 || order == 1);
  LOCKSTEP_CHECK_COMPARE(ge, order == 0 || order == 1);
  LOCKSTEP_CHECK_COMPARE(o, order != 2);
  LOCKSTEP_CHECK_COMPARE(u, order == 2);
  LOCKSTEP_CHECK_COMPARE(nge, order == -1 || order == 2);
  LOCKSTEP_CHECK_COMPARE(nlg, order == 0 || order == 2);
  LOCKSTEP_CHECK_COMPARE(ngt, order != 1);
  LOCKSTEP_CHECK_COMPARE(nle, order == 1 || order == 2);
  LOCKSTEP_CHECK_COMPARE(neq, order != 0);
  LOCKSTEP_CHECK_COMPARE(nlt, order != -1);
  LOCKSTEP_CHECK_COMPARE(t, 1);
}

int class_of(const Format& f, uint64_t x) {
  if (f.is_nan(x)) return f.is_signalling(x) ? 0 : 1;
  const int rank = f.is_infinite(x) ? 3 : !f.is_tiny(x) ? 2 : f.is_zero(x) ? 0 : 1;
  return f.is_negative(x) ? 5 - rank : 6 + rank;
}

TYPED_TEST(Select, Classes) {
  using Float = TypeParam;
  const auto inputs = triples<Float>();
  for (unsigned bit = 0; bit < 10; ++bit) {
    check<Float>(
        "class", inputs, [bit](Float a, Float, Float, auto) { return class_test(a, U32(1u << bit)); },
        [bit](const Format& f, uint64_t a, uint64_t, uint64_t, const LaneMode&) -> uint64_t {
          return class_of(f, a) == static_cast<int>(bit);
        },
        {kDefaultFloatMode});
  }
  check<Float>(
      "is_nan", inputs, [](Float a, Float, Float, auto) { return is_nan(a); },
      [](const Format& f, uint64_t a, uint64_t, uint64_t, const LaneMode&) -> uint64_t {
        return f.is_nan(a);
      },
      {kDefaultFloatMode});
  check<Float>(
      "is_snan", inputs, [](Float a, Float, Float, auto) { return is_snan(a); },
      [](const Format& f, uint64_t a, uint64_t, uint64_t, const LaneMode&) -> uint64_t {
        return f.is_signalling(a);
      },
      {kDefaultFloatMode});
}

template <class Operation>
uint64_t to_integer(const Format& f, uint64_t x, const LaneMode& m, Operation operation) {
  x = flushed(f, x, m);
  if (!f.is_finite(x)) return quieted(f, x, m);
  oracle::Real value(64);
  oracle::set_exact(value, f, x);
  operation(static_cast<mpfr_ptr>(value));
  // MPFR keeps the sign of a zero result.
  return oracle::round_exact(f, value, Round::nearest_even, true);
}

TYPED_TEST(Select, RoundingToIntegers) {
  using Float = TypeParam;
  auto inputs = triples<Float>();
  // Halves and their neighbours.
  const Format& f = oracle::format_of<Float>();
  for (int i = 0; i < 64; ++i) {
    oracle::Real half(64);
    mpfr_set_d(half, i / 4 + 0.5, MPFR_RNDN);
    const uint64_t bits = oracle::round_exact(f, half, Round::nearest_even, true);
    inputs.push_back({(bits + i % 4 - 1) | (i & 1 ? f.sign() : 0), 0, 0});
  }
#define LOCKSTEP_CHECK_ROUND(name, mpfr_operation)                                      \
  check<Float>(                                                                         \
      #name, inputs, [](Float a, Float, Float, auto m) { return numeric::name(a, m); }, \
      [](const Format& f, uint64_t a, uint64_t, uint64_t, const LaneMode& m) {          \
        return to_integer(f, a, m, [](mpfr_ptr x) { mpfr_operation; });                 \
      })
  LOCKSTEP_CHECK_ROUND(floor, mpfr_floor(x, x));
  LOCKSTEP_CHECK_ROUND(ceil, mpfr_ceil(x, x));
  LOCKSTEP_CHECK_ROUND(trunc, mpfr_trunc(x, x));
  LOCKSTEP_CHECK_ROUND(rndne, mpfr_rint(x, x, MPFR_RNDN));
}

TYPED_TEST(Select, TakingApart) {
  using Float = TypeParam;
  const auto inputs = triples<Float>();
  check<Float>(
      "frexp_mant", inputs, [](Float a, Float, Float, auto m) { return frexp_mant(a, m); },
      [](const Format& f, uint64_t a, uint64_t, uint64_t, const LaneMode& m) -> uint64_t {
        a = flushed(f, a, m);
        if (!f.is_finite(a) || f.is_zero(a)) return quieted(f, a, m);
        oracle::Real value(64);
        oracle::set_exact(value, f, a);
        mpfr_set_exp(value, 0);
        return oracle::round_exact(f, value, Round::nearest_even, true);
      });
  check<Float>(
      "frexp_exp", inputs, [](Float a, Float, Float, auto m) { return frexp_exp(a, m); },
      [](const Format& f, uint64_t a, uint64_t, uint64_t, const LaneMode& m) -> uint64_t {
        a = flushed(f, a, m);
        if (!f.is_finite(a) || f.is_zero(a)) return 0;
        oracle::Real value(64);
        oracle::set_exact(value, f, a);
        return static_cast<uint32_t>(mpfr_get_exp(static_cast<mpfr_ptr>(value)));
      });
}

TEST(CapturedSelect, FrexpOfTheLeastDenormal) {
  const F32 least = splat_bits<F32>(1);
  EXPECT_EQ(frexp_exp(least, DefaultFloatMode{})[0], -148);
  EXPECT_EQ(frexp_mant(least, DefaultFloatMode{})[0], 0.5f);
  EXPECT_EQ(frexp_exp(least, RuntimeFloatMode{0x3c0})[0], 0);
  EXPECT_EQ(to_bits(frexp_mant(negate(least), RuntimeFloatMode{0x3c0}))[0], 0x80000000u);
}

}  // namespace
}  // namespace lockstep::numeric
