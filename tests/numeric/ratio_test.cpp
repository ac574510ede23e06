// What makes steps of several instructions one product with a reciprocal.
#include "numeric/ratio.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

#include "numeric/transcendental.h"
#include "numeric/transcendental_reference.h"

namespace lockstep::numeric {
namespace {

// With the host's library, and the reciprocal that is found in another way.
float by_steps(float n, float d) {
  int exponent_of_n = 0, exponent_of_d = 0;
  const float fraction = std::frexp(n, &exponent_of_n), of_d = std::frexp(d, &exponent_of_d);
  // Infinities keep no exponent.
  if (std::isinf(n)) exponent_of_n = 0;
  if (std::isinf(d)) exponent_of_d = 0;
  const auto reciprocal = std::bit_cast<float>(reference::rcp(std::bit_cast<uint32_t>(of_d)));
  return std::ldexp(fraction * reciprocal, exponent_of_n - exponent_of_d);
}

void expect_right(uint32_t n, uint32_t d) {
  const auto numerator = std::bit_cast<float>(n), denominator = std::bit_cast<float>(d);
  const float right = by_steps(numerator, denominator);
  const F32 divisor = F32(denominator), reciprocal = rcp(divisor, DefaultFloatMode{});
  const float first = ratio<false>(F32(numerator), divisor, reciprocal)[5],
              second = ratio<true>(F32(numerator), divisor, reciprocal)[5];
  if (std::isnan(right)) {
    EXPECT_TRUE(std::isnan(first) && std::isnan(second)) << n << " " << d;
    return;
  }
  EXPECT_EQ(std::bit_cast<uint32_t>(first), std::bit_cast<uint32_t>(right)) << n << " " << d;
  EXPECT_EQ(std::bit_cast<uint32_t>(second), std::bit_cast<uint32_t>(right)) << n << " " << d;
}

TEST(Ratio, IsWhatTheStepsGive) {
  std::mt19937 random(7);
  for (int i = 0; i < 200'000; ++i) expect_right(random(), random());
  // Results that are next to the least normal number and to the largest.
  for (int i = 0; i < 200'000; ++i) {
    const uint32_t n = random(), d = random(), exponent = 1 + (d >> 23) % 254;
    for (const uint32_t of_result : {0u, 1u, 2u, 254u, 255u}) {
      const uint32_t of_n = exponent + of_result - 127;
      if (of_n - 1 < 254) expect_right((n & 0x807fffff) | of_n << 23, (d & 0x807fffff) | exponent << 23);
    }
  }
}

TEST(Ratio, OfWhatIsNoNormalNumber) {
  const uint32_t values[] = {0,          1,          0x123,      0x7fffff,   0x800000,   0x800001,
                             0x3f800000, 0x40400000, 0x7e7fffff, 0x7e800000, 0x7e800001, 0x7f7fffff,
                             0x7f800000, 0x80000000, 0x80000001, 0xbf800000, 0xff7fffff, 0xff800000};
  for (const uint32_t n : values)
    for (const uint32_t d : values) expect_right(n, d);
}

TEST(Ratio, OfConstants) {
  std::mt19937 random(9);
  for (int i = 0; i < 400'000; ++i) {
    const uint32_t n = random(), r = (random() & 0x807fffff) | (28 + random() % 200) << 23;
    const auto numerator = std::bit_cast<float>(n), reciprocal = std::bit_cast<float>(r);
    int exponent_of_n = 0, exponent_of_r = 0;
    const float fraction = std::frexp(numerator, &exponent_of_n),
                of_r = std::frexp(reciprocal, &exponent_of_r);
    const float right =
        std::ldexp(fraction * of_r, std::isinf(numerator) ? 0 : exponent_of_n + exponent_of_r);
    const float result = ratio_of_constant(F32(numerator), F32(reciprocal))[3];
    if (std::isnan(right))
      EXPECT_TRUE(std::isnan(result));
    else
      EXPECT_EQ(std::bit_cast<uint32_t>(result), std::bit_cast<uint32_t>(right)) << n << " " << r;
  }
}

}  // namespace
}  // namespace lockstep::numeric
