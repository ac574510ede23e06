#include "numeric/output.h"

#include <gtest/gtest.h>

#include "tests/numeric/oracle.h"

namespace lockstep::numeric {
namespace {

using oracle::Format;

template <class Float>
class Output : public ::testing::Test {};
using Formats = ::testing::Types<F16, F32, F64>;
TYPED_TEST_SUITE(Output, Formats);

template <class Float>
std::vector<uint64_t> inputs() {
  const Format& f = oracle::format_of<Float>();
  auto list = oracle::edges(f);
  std::mt19937_64 random(5);
  for (int i = 0; i < 10000; ++i) list.push_back(oracle::random_input(f, random));
  while (list.size() % kLanesPerChunk != 0) list.push_back(0);
  return list;
}

uint64_t omod_oracle(const Format& f, uint64_t x, unsigned code, uint32_t bits) {
  const auto mode = oracle::lane_mode(f, bits);
  if (mode.ieee || mode.denorm_out || code == 0 || f.is_nan(x)) return x;
  if (f.is_zero(x)) return 0;
  oracle::Real value(64);
  oracle::set_exact(value, f, x);
  mpfr_mul_2si(value, value, code == 3 ? -1 : static_cast<long>(code), MPFR_RNDN);
  return oracle::round_exact(f, value, mode.round, false,
                             f.width == 16 && mode.fp16_overflow_clamps && f.is_finite(x));
}

uint64_t clamp_oracle(const Format& f, uint64_t x, uint32_t bits) {
  if (f.is_nan(x)) return RuntimeFloatMode{bits}.dx10_clamp() ? 0 : x;
  if (f.is_negative(x)) return 0;
  return x > f.one() ? f.one() : x;
}

TYPED_TEST(Output, OmodAndClampInEveryMode) {
  using Float = TypeParam;
  const Format& f = oracle::format_of<Float>();
  const auto list = inputs<Float>();
  for (const uint32_t base : oracle::all_modes()) {
    for (const uint32_t mode : {base, base ^ 1u << 8, base | 1u << 23}) {
      for (size_t start = 0; start < list.size(); start += kLanesPerChunk) {
        const auto x = oracle::vector_of<Float>(std::span(list).subspan(start, kLanesPerChunk));
        const RuntimeFloatMode m{mode};
        const Float clamped = numeric::clamp(x, m);
        const Float scaled[] = {omod(x, 0, m), omod(x, 1, m), omod(x, 2, m), omod(x, 3, m)};
        for (unsigned i = 0; i < kLanesPerChunk; ++i) {
          ASSERT_EQ(oracle::lane_of(clamped, i), clamp_oracle(f, list[start + i], mode))
              << f.name << std::hex << " " << list[start + i] << "; " << oracle::mode_text(mode);
          for (unsigned code = 0; code < 4; ++code) {
            ASSERT_EQ(oracle::lane_of(scaled[code], i), omod_oracle(f, list[start + i], code, mode))
                << f.name << " omod " << code << std::hex << " " << list[start + i] << "; "
                << oracle::mode_text(mode);
          }
        }
      }
    }
  }
}

// Facts captured from gfx1100: 65504 + 65504 saturates before it is halved; -0 only from an underflow.
TEST(CapturedOutput, OmodOfHalves) {
  const RuntimeFloatMode mode{1u << 23};
  EXPECT_EQ(to_bits(omod(splat_bits<F16>(0x7bff), 3, mode))[0], 0x77ff);
  EXPECT_EQ(to_bits(omod(splat_bits<F16>(0x8400), 3, mode))[0], 0x8000);
  EXPECT_EQ(to_bits(omod(splat_bits<F16>(0x8000), 1, mode))[0], 0x0000);
  EXPECT_EQ(to_bits(omod_dx9(splat_bits<F32>(0x3f800000), 1, RuntimeFloatMode{0x0f0}))[0], 0x40000000u);
  EXPECT_EQ(to_bits(omod_dx9(splat_bits<F32>(0x3f800000), 1, RuntimeFloatMode{0x2f0}))[0], 0x3f800000u);
}

TEST(IntegerSaturation, Limits) {
  EXPECT_EQ(add_saturated(U32(0xfffffff0u), U32(0x20u))[0], 0xffffffffu);
  EXPECT_EQ(sub_saturated(I32(INT32_MIN), I32(1))[0], INT32_MIN);
  EXPECT_EQ(add_saturated(I16(32000), I16(1000))[0], 32767);
  EXPECT_EQ(sub_saturated(U16(5), U16(6))[0], 0);
  EXPECT_EQ(saturate_i32(I64(int64_t{1} << 40))[0], INT32_MAX);
  EXPECT_EQ(saturate_i32(I64(-(int64_t{1} << 40)))[0], INT32_MIN);
  EXPECT_EQ(saturate_u32(I64(-1))[0], 0u);
  EXPECT_EQ(saturate_u32(U64(uint64_t{1} << 32))[0], UINT32_MAX);
}

}  // namespace
}  // namespace lockstep::numeric
