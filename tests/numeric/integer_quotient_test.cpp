// What makes steps of several instructions one quotient of integers.
#include "numeric/integer_quotient.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <random>

#include "numeric/convert.h"
#include "numeric/transcendental.h"
#include "tests/sweep.h"

namespace lockstep::numeric {
namespace {

// The integer that compilers take for 2^32 / d.
U32 reciprocal(U32 d) {
  constexpr DefaultFloatMode kMode;
  const F32 scaled = rcp_iflag(__builtin_convertvector(d, F32), kMode) * bits_as<F32>(U32(0x4f7ffffe));
  const U32 first = f32_to_u32(scaled);
  const auto high_product = [](U32 a, U32 b) {
    const U64 product = __builtin_convertvector(a, U64) * __builtin_convertvector(b, U64);
    return __builtin_convertvector(product >> 32, U32);
  };
  return first + high_product(first, (0 - d) * first);
}

// By the steps, which is another way than the host's division of doubles.
IntegerQuotient by_steps(uint32_t n, uint32_t d) {
  const uint32_t z = reciprocal(U32(d))[0];
  auto quotient = static_cast<uint32_t>((uint64_t{n} * z) >> 32);
  uint32_t rest = n - quotient * d;
  for (int i = 0; i < 2; ++i) {
    if (rest < d) continue;
    ++quotient;
    rest -= d;
  }
  return {U32(quotient), U32(rest)};
}

TEST(IntegerQuotient, ReciprocalsAreNeverMoreAndHardlyLess) {
  // An odd number, so that all places of the last bits are met.
  const uint64_t step = test::of_sweep(uint64_t{1}, uint64_t{1021});
  const auto expect_near = [](U32 d) {
    const U32 z = reciprocal(d);
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
      const int64_t error = (int64_t{1} << 32) - static_cast<int64_t>(uint64_t{z[lane]} * d[lane]);
      ASSERT_GE(error, 0) << d[lane];
      ASSERT_LE(error, 2 * int64_t{d[lane]}) << d[lane];
    }
  };
  const U32 lanes = lane_numbers() * static_cast<uint32_t>(step);
  for (uint64_t first = 1; first + 16 * step < uint64_t{1} << 32 && !testing::Test::HasFatalFailure();
       first += 16 * step)
    expect_near(lanes + static_cast<uint32_t>(first));
  // Around powers of two, where floats begin to round.
  for (unsigned bit = 0; bit < 32 && !testing::Test::HasFatalFailure(); ++bit)
    for (uint32_t near = 0; near < 4096; near += 16) {
      const U32 d = lane_numbers() + ((1u << bit) + near - 2048);
      expect_near(d == 0 ? U32(1) : d);
    }
}

TEST(IntegerQuotient, IsTheStepsAndTheHosts) {
  std::mt19937 random(1);
  const auto expect_it = [](uint32_t n, uint32_t d) {
    const IntegerQuotient result = integer_quotient(U32(n), U32(d)), steps = by_steps(n, d);
    ASSERT_EQ(result.quotient[0], steps.quotient[0]) << n << " / " << d;
    ASSERT_EQ(result.rest[0], steps.rest[0]) << n << " / " << d;
    if (d == 0) return;
    ASSERT_EQ(result.quotient[5], n / d) << n << " / " << d;
    ASSERT_EQ(result.rest[5], n % d) << n << " / " << d;
  };
  const std::initializer_list<uint32_t> edges = {
      0, 1, 2, 3, 5, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0x80000001, 641, 0xfffffffe, 0xffffffff};
  for (uint32_t n : edges)
    for (uint32_t d : edges) expect_it(n, d);
  const int count = test::of_sweep(20'000'000, 200'000);
  for (int i = 0; i < count && !HasFatalFailure(); ++i) {
    const uint32_t d = random() >> (random() % 32);
    expect_it(random() >> (random() % 32), d);
    // Products, and what is next to them: the quotient is or nearly is an integer.
    expect_it(d * (random() >> (random() % 32)) + random() % 3 - 1, d);
  }
}

}  // namespace
}  // namespace lockstep::numeric
