// What makes steps of ninety instructions one quotient of integers of 64 bits.
#include "numeric/wide_quotient.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <random>
#include <vector>

#include "numeric/convert.h"
#include "numeric/transcendental.h"
#include "tests/sweep.h"

namespace lockstep::numeric {
namespace {

using Wide = unsigned __int128;

// The integer that compilers take for 2^64 / d at first.
U64 first_reciprocal(U64 d) {
  constexpr DefaultFloatMode kMode;
  const F32 whole =
      __builtin_elementwise_fma(convert<F32>(high_half(d)), F32(0x1p32f), convert<F32>(low_half(d)));
  const F32 scaled = rcp(whole, kMode) * bits_as<F32>(U32(0x5f7ffffc));
  const F32 high = __builtin_elementwise_trunc(scaled * 0x1p-32f);
  const F32 low = __builtin_elementwise_fma(high, F32(-0x1p32f), scaled);
  return join(f32_to_u32(low), f32_to_u32(high));
}

uint64_t high_product(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>((Wide{a} * b) >> 64);
}

struct Scalars {
  uint64_t quotient, rest;
};

// By the steps, which is another way than doubles.
Scalars by_steps(uint64_t n, uint64_t d, uint64_t reciprocal) {
  for (int i = 0; i < 2; ++i) reciprocal += high_product(reciprocal, (0 - d) * reciprocal);
  uint64_t quotient = high_product(n, reciprocal), rest = n - quotient * d;
  for (int i = 0; i < 2; ++i) {
    if (rest < d) break;
    ++quotient;
    rest -= d;
  }
  return {quotient, rest};
}

void expect_near(U64 d) {
  const U64 z = first_reciprocal(d);
  for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
    const Wide product = Wide{z[lane]} * d[lane], whole = Wide{1} << 64;
    // A product of floats is no more than that, and of d = 2^64 - 1 it is less than 1.
    ASSERT_LE(product, whole) << d[lane];
    ASSERT_LT(whole - product, (Wide{1} << 43) + d[lane]) << d[lane];
  }
}

TEST(WideQuotient, FirstReciprocalsAreNeverMoreAndHardlyLess) {
  std::mt19937_64 random(1);
  for (unsigned bit = 0; bit < 64 && !HasFatalFailure(); ++bit)
    for (uint64_t near = 0; near < 4096; near += 16) {
      const U64 d = convert<U64>(lane_numbers()) + ((uint64_t{1} << bit) + near - 2048);
      expect_near(d == 0 ? U64(1) : d);
    }
  // All significands of the float that is turned over, near both ends of where its operands round to it.
  const uint32_t step = test::of_sweep(1u, 251u);
  for (uint64_t significand = 1 << 23; significand < 1 << 24 && !HasFatalFailure();
       significand += 16 * step) {
    const U64 each = significand + convert<U64>(lane_numbers()) * step;
    expect_near(each);
    expect_near((each << 39) + (uint64_t{1} << 38) - 1);
    expect_near((each << 39) - (uint64_t{1} << 37));
    expect_near((each << (random() % 40)) + (random() >> 41));
  }
}

TEST(WideQuotient, IsTheStepsAndTheHosts) {
  std::mt19937_64 random(2);
  const auto expect_it = [](U64 n, U64 d) {
    const WideQuotient result = wide_quotient(n, d);
    const U64 reciprocal = first_reciprocal(d);
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
      const Scalars steps = by_steps(n[lane], d[lane], reciprocal[lane]);
      ASSERT_EQ(result.quotient[lane], steps.quotient) << n[lane] << " / " << d[lane];
      ASSERT_EQ(result.rest[lane], steps.rest) << n[lane] << " / " << d[lane];
      if (d[lane] == 0) continue;
      ASSERT_EQ(result.quotient[lane], n[lane] / d[lane]) << n[lane] << " / " << d[lane];
    }
  };
  // Numbers of all sizes, and next to them.
  std::vector<uint64_t> edges = {0, 3, 5, 641, 0xffffffff00000000, 0xfffffffeffffffff};
  for (unsigned bit = 0; bit < 64; ++bit)
    for (const int near : {-1, 0, 1}) edges.push_back((uint64_t{1} << bit) + static_cast<uint64_t>(near));
  for (const uint64_t d : edges)
    for (size_t first = 0; first < edges.size() && !HasFatalFailure(); first += kLanesPerChunk) {
      U64 n{};
      for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) n[lane] = edges[(first + lane) % edges.size()];
      expect_it(n, U64(d));
      expect_it(~n, U64(d));
    }
  const int count = test::of_sweep(2'000'000, 30'000);
  for (int i = 0; i < count && !HasFatalFailure(); ++i) {
    U64 n{}, d{}, product{};
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
      d[lane] = random() >> (random() % 64);
      n[lane] = random() >> (random() % 64);
      // Products of which no bit is lost, and what is next to them: the quotient is or nearly is an integer.
      const uint64_t most = d[lane] == 0 ? 0 : ~uint64_t{0} / d[lane];
      product[lane] = d[lane] * (random() % 2 ? most : random() % (most | 1)) + random() % 3 - 1;
    }
    expect_it(n, d);
    expect_it(product, d);
    // Both near 2^15, where the second estimate has most to do, and near 2^32, where its operand loses a bit.
    expect_it(~n, (d & 0x1ffff) + 0x7000);
    expect_it(~(n >> 20), 0xffffffff - (d & 0xffff));
  }
}

TEST(WideQuotient, ByOneNumberAndFromOtherEstimates) {
  std::mt19937_64 random(4);
  const auto check = [&](uint64_t d) {
    const uint64_t reciprocal = ~uint64_t{0} / d, most = kWideEstimateError / d + 1;
    for (int i = 0; i < 4; ++i) {
      U64 n;
      for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
        const uint64_t product = random() / d * d;
        n[lane] = lane < 4   ? product - lane % 2
                  : lane < 6 ? 0 - uint64_t{lane - 4}
                             : random() >> random() % 64;
      }
      const WideQuotient result = wide_quotient_with(n, U64(d), U64(reciprocal));
      for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
        ASSERT_EQ(result.quotient[lane], n[lane] / d) << n[lane] << " / " << d;
        ASSERT_EQ(result.rest[lane], n[lane] % d) << n[lane] << " / " << d;
        for (const uint64_t less : {uint64_t{0}, uint64_t{1}, most, most - 1, random() % (most + 1)}) {
          if (less > reciprocal || less > most) continue;
          const Scalars steps = by_steps(n[lane], d, reciprocal - less);
          ASSERT_EQ(steps.quotient, n[lane] / d) << n[lane] << " / " << d << ", " << less;
          ASSERT_EQ(steps.rest, n[lane] % d) << n[lane] << " / " << d << ", " << less;
        }
      }
    }
  };
  for (uint64_t d = 1; d < 2000; ++d) check(d);
  for (unsigned bit = 3; bit < 64; ++bit)
    for (const int near : {-3, -2, -1, 0, 1, 2}) {
      check((uint64_t{1} << bit) + static_cast<uint64_t>(near));
      check((~uint64_t{0} / 3 >> (63 - bit)) + static_cast<uint64_t>(near));
    }
  check(~uint64_t{0});
  for (int i = 0; i < test::of_sweep(400'000, 20'000) && !HasFatalFailure(); ++i)
    check(random() >> random() % 63 | 1);
}

// All constants that compilers may have, by their size, and numbers next to multiples of them.
TEST(WideQuotient, ByAConstantIsTheQuotient) {
  std::mt19937_64 random(3);
  const auto check = [&](uint64_t d) {
    const WideFactor factor = wide_factor(d);
    const U64 long_ones = U64(factor.is_long ? ~uint64_t{0} : 0);
    U64 n;
    for (unsigned lane = 0; lane < 16; ++lane) {
      const uint64_t multiple = random() / d * d;
      const std::array<uint64_t, 8> numbers = {
          0, d - 1, d, ~uint64_t{0} / d * d, ~uint64_t{0} / d * d - 1, ~uint64_t{0}, multiple, multiple - 1};
      n[lane] = lane < numbers.size() ? numbers[lane] : random() >> random() % 64;
    }
    const WideQuotient result = wide_quotient_by(n, U64(d), U64(factor.factor), U64(uint64_t{factor.before}),
                                                 U64(uint64_t{factor.after}), long_ones);
    for (unsigned lane = 0; lane < 16; ++lane) {
      ASSERT_EQ(result.quotient[lane], n[lane] / d) << n[lane] << " / " << d;
      ASSERT_EQ(result.rest[lane], n[lane] % d) << n[lane] << " / " << d;
    }
    const uint64_t most = greatest_wide_reciprocal(d);
    for (const uint64_t z : {most, most - 1}) {
      for (unsigned lane = 0; lane < 16; ++lane) {
        const auto estimate = static_cast<uint64_t>(Wide{n[lane]} * z >> 64);
        ASSERT_LE(n[lane] / d - estimate, 2u) << n[lane] << " / " << d;
      }
    }
  };
  for (uint64_t d = 3; d < 20000; ++d)
    if (!std::has_single_bit(d)) check(d);
  for (unsigned i = 0; i < 200000; ++i) {
    const uint64_t d = random() >> random() % 62 | 1;
    if (d > 1) check(d << random() % static_cast<unsigned>(std::countl_zero(d) + 1));
  }
  for (unsigned bit = 2; bit < 64; ++bit)
    for (const uint64_t d : {(uint64_t{1} << bit) - 1, (uint64_t{1} << bit) + 1, uint64_t{3} << (bit - 2)})
      check(d);
  check(~uint64_t{0});
  for (const uint64_t d : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{1} << 63})
    EXPECT_EQ(greatest_wide_reciprocal(d), 0u);
}

}  // namespace
}  // namespace lockstep::numeric
