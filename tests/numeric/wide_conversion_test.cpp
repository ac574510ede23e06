#include "numeric/wide_conversion.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "numeric/convert.h"
#include "tests/sweep.h"

namespace lockstep::numeric {
namespace {

// Numbers next to where words, their signs and doubles end.
std::vector<uint64_t> edges() {
  std::vector<uint64_t> numbers = {0};
  for (unsigned bit = 0; bit < 64; ++bit)
    for (int near = -2; near <= 2; ++near)
      numbers.push_back((uint64_t{1} << bit) + static_cast<uint64_t>(near));
  return numbers;
}

TEST(WideConversion, OfWordsRoundsOnce) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> numbers = edges();
  for (int i = 0; i < test::of_sweep(400'000, 20'000); ++i) numbers.push_back(random() >> random() % 64);
  for (size_t first = 0; first < numbers.size(); ++first) {
    U32 low{}, high{};
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
      const uint64_t number = numbers[(first + lane) % numbers.size()];
      low[lane] = static_cast<uint32_t>(number);
      high[lane] = static_cast<uint32_t>(number >> 32);
    }
    const F64 plain = number_of_words(low, high, false), with_sign = number_of_words(low, high, true);
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
      const uint64_t number = uint64_t{high[lane]} << 32 | low[lane];
      ASSERT_EQ(std::bit_cast<uint64_t>(plain[lane]), std::bit_cast<uint64_t>(static_cast<double>(number)));
      ASSERT_EQ(std::bit_cast<uint64_t>(with_sign[lane]),
                std::bit_cast<uint64_t>(static_cast<double>(static_cast<int64_t>(number))));
    }
  }
}

// Each instruction by itself.
TEST(WideConversion, ToWordsIsTheSteps) {
  std::mt19937_64 random(2);
  std::vector<double> numbers;
  for (const uint64_t edge : edges()) {
    for (const double number : {static_cast<double>(edge), static_cast<double>(static_cast<int64_t>(edge)),
                                std::bit_cast<double>(edge)})
      for (const double each :
           {number, -number, number + 0.5, std::nextafter(number, 0.0), std::nextafter(number, 1e308)})
        numbers.push_back(each);
  }
  for (const double each :
       {double{INFINITY}, -double{INFINITY}, double{NAN}, 0x1p-1074, -0x1p-1074, -0x1p-1050, 1e300})
    numbers.push_back(each);
  for (int i = 0; i < test::of_sweep(400'000, 20'000); ++i)
    numbers.push_back(std::bit_cast<double>(random()));
  for (int i = 0; i < test::of_sweep(400'000, 20'000); ++i)
    numbers.push_back(
        std::ldexp(static_cast<double>(random()) - 0x1p63, static_cast<int>(random() % 70) - 64));
  for (size_t first = 0; first < numbers.size(); ++first) {
    F64 number{};
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane)
      number[lane] = numbers[(first + lane) % numbers.size()];
    F64 whole{}, rest{};
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
      whole[lane] = std::floor(std::ldexp(number[lane], -32));
      rest[lane] = std::fma(-0x1p32, whole[lane], number[lane]);
    }
    const WordsOfNumber words = words_of_number(number);
    const U32 low = f64_to_u32(rest), high = f64_to_u32(whole);
    const I32 signed_high = f64_to_i32(whole);
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
      ASSERT_EQ(words.low[lane], low[lane]) << number[lane];
      ASSERT_EQ(words.high[lane], high[lane]) << number[lane];
      ASSERT_EQ(words.signed_high[lane], static_cast<uint32_t>(signed_high[lane])) << number[lane];
    }
  }
}

}  // namespace
}  // namespace lockstep::numeric
