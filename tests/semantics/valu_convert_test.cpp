// Conversions between formats and integers, and packing, against MPFR and scalar C++.
#include <algorithm>
#include <cmath>

#include "semantics/vop1_convert.h"
#include "semantics/vop3_bits.h"
#include "semantics/vop3_convert.h"
#include "valu_float_driver.h"

namespace lockstep::semantics {
namespace {

using namespace testing;

uint64_t reformat(const Format& from, const Format& to, RuntimeFloatMode m, uint64_t x) {
  return calculate(from, to, m, {x},
                   [](mpfr_ptr r, Number* s, mpfr_rnd_t rounding) { return mpfr_set(r, s[0], rounding); });
}
// A signalling NaN whose payload does not fit into the narrower format stays a NaN, quieted though IEEE is
// off.
uint64_t narrow(const Format& from, const Format& to, RuntimeFloatMode m, uint64_t x) {
  const uint64_t result = reformat(from, to, m, x);
  return from.is_nan(x) && !to.is_nan(result) ? result | to.quiet() : result;
}

TEST(ValuConvert, BetweenFloats) {
  EVERY_MODE(v_cvt_f16_f32, narrow(kSingle, kHalf, m, s[0]));
  EVERY_MODE(v_cvt_f32_f64, narrow(kDouble, kSingle, m, s[0]));
  EVERY_MODE(v_cvt_f32_f16, reformat(kHalf, kSingle, m, s[0]));
  EVERY_MODE(v_cvt_f64_f32, reformat(kSingle, kDouble, m, s[0]));
}

// Every half that exists, there and back.
TEST(ValuConvert, EveryHalf) {
  for (uint32_t first = 0; first < 0x10000; first += kLanesPerChunk) {
    U16 halves;
    for (unsigned i = 0; i < kLanesPerChunk; ++i) halves[i] = first + i;
    F32 wide = v_cvt_f32_f16::eval(bits_as<F16>(halves), DefaultFloatMode{});
    // LLVM takes a conversion there and back for nothing at all, also for signalling NaNs.
    asm volatile("" : "+m"(wide));
    const F16 back = v_cvt_f16_f32::eval(wide, DefaultFloatMode{});
    for (unsigned i = 0; i < kLanesPerChunk; ++i) {
      ASSERT_EQ(Lane<F32>::get(wide, i), reformat(kHalf, kSingle, {kDefaultFloatMode}, first + i));
      ASSERT_EQ(Lane<F16>::get(back, i), kHalf.quieted(first + i, {kDefaultFloatMode}));
    }
  }
}

uint64_t toward_zero(RuntimeFloatMode m, uint64_t x) {
  return narrow(kSingle, kHalf, {m.mode | 0xc}, x);
}

TEST(ValuConvert, PackedTowardZero) {
  for (uint32_t bits : kEveryMode) {
    const RuntimeFloatMode mode{bits};
    const auto& values = float_values(32);
    for (size_t i = 0; i < values.size(); ++i) {
      const uint64_t a = values[i], b = values[(i * 7 + 3) % values.size()];
      const PairF16 result =
          v_cvt_pk_rtz_f16_f32::eval(bits_as<F32>(U32(uint32_t(a))), bits_as<F32>(U32(uint32_t(b))), mode);
      EXPECT_EQ(Lane<F16>::get(result.low, 3), toward_zero(mode, a)) << std::hex << a << " MODE " << bits;
      EXPECT_EQ(Lane<F16>::get(result.high, 12), toward_zero(mode, b)) << std::hex << b << " MODE " << bits;
    }
  }
}

TEST(ValuConvert, FromIntegers) {
  EVERY_MODE(v_cvt_f32_i32, round_integer(kSingle, m, int32_t(s[0])));
  EVERY_MODE(v_cvt_f32_u32, round_integer(kSingle, m, s[0]));
  EVERY_MODE(v_cvt_f16_i16, round_integer(kHalf, m, int16_t(s[0])));
  EVERY_MODE(v_cvt_f16_u16, round_integer(kHalf, m, s[0]));
  NO_MODE(v_cvt_f64_i32, round_integer(kDouble, {kDefaultFloatMode}, int32_t(s[0])));
  NO_MODE(v_cvt_f64_u32, round_integer(kDouble, {kDefaultFloatMode}, s[0]));
  NO_MODE(v_cvt_f32_ubyte0, round_integer(kSingle, {kDefaultFloatMode}, s[0] & 0xff));
  NO_MODE(v_cvt_f32_ubyte1, round_integer(kSingle, {kDefaultFloatMode}, s[0] >> 8 & 0xff));
  NO_MODE(v_cvt_f32_ubyte2, round_integer(kSingle, {kDefaultFloatMode}, s[0] >> 16 & 0xff));
  NO_MODE(v_cvt_f32_ubyte3, round_integer(kSingle, {kDefaultFloatMode}, s[0] >> 24 & 0xff));
}

TEST(ValuConvert, OffsetTable) {
  const float table[16] = {0.0f,  0.0625f,  0.125f,  0.1875f,  0.25f,  0.3125f,  0.375f,  0.4375f,
                           -0.5f, -0.4375f, -0.375f, -0.3125f, -0.25f, -0.1875f, -0.125f, -0.0625f};
  for (uint32_t i = 0; i < 16; ++i) EXPECT_EQ(v_cvt_off_f32_i4::eval(U32(i | 0xabcdef0))[2], table[i]);
  EXPECT_FALSE(std::signbit(v_cvt_off_f32_i4::eval(U32(0))[0]));
}

// All values are exact in double, and so is the sum of a half.
int64_t saturated(double x, double low, double high) {
  return std::isnan(x) ? 0 : int64_t(std::clamp(std::trunc(x), low, high));
}
double value(const Format& f, uint64_t bits) {
  return to_double(f, bits);
}
uint64_t normalized(double x, double low, double scale) {
  return std::isnan(x) ? 0 : int64_t(std::nearbyint(std::clamp(x, low, 1.0) * scale));
}
int64_t u16(int64_t v) {
  return v & 0xffff;
}

TEST(ValuConvert, ToIntegers) {
  NO_MODE(v_cvt_i32_f32, saturated(value(kSingle, s[0]), INT32_MIN, INT32_MAX));
  NO_MODE(v_cvt_u32_f32, saturated(value(kSingle, s[0]), 0, UINT32_MAX));
  NO_MODE(v_cvt_i32_f64, saturated(value(kDouble, s[0]), INT32_MIN, INT32_MAX));
  NO_MODE(v_cvt_u32_f64, saturated(value(kDouble, s[0]), 0, UINT32_MAX));
  NO_MODE(v_cvt_i16_f16, saturated(value(kHalf, s[0]), INT16_MIN, INT16_MAX));
  NO_MODE(v_cvt_u16_f16, saturated(value(kHalf, s[0]), 0, UINT16_MAX));
  // Guide 7.2.4: a negative denormal that MODE flushes is not below zero.
  EVERY_MODE(v_cvt_floor_i32_f32, !m.denorm_in_f32() && (s[0] & 0x7f800000) == 0
                                      ? 0
                                      : saturated(std::floor(value(kSingle, s[0])), INT32_MIN, INT32_MAX));
  NO_MODE(v_cvt_nearest_i32_f32, saturated(std::floor(value(kSingle, s[0]) + 0.5), INT32_MIN, INT32_MAX));
  NO_MODE(v_cvt_norm_i16_f16, normalized(value(kHalf, s[0]), -1, 32767));
  NO_MODE(v_cvt_norm_u16_f16, normalized(value(kHalf, s[0]), 0, 65535));
  NO_MODE(v_cvt_pk_i16_f32, u16(saturated(value(kSingle, s[0]), INT16_MIN, INT16_MAX)) |
                                u16(saturated(value(kSingle, s[1]), INT16_MIN, INT16_MAX)) << 16);
  NO_MODE(v_cvt_pk_u16_f32, saturated(value(kSingle, s[0]), 0, UINT16_MAX) |
                                saturated(value(kSingle, s[1]), 0, UINT16_MAX) << 16);
  NO_MODE(v_cvt_pk_norm_i16_f32, u16(normalized(value(kSingle, s[0]), -1, 32767)) |
                                     u16(normalized(value(kSingle, s[1]), -1, 32767)) << 16);
  NO_MODE(v_cvt_pk_norm_u16_f32,
          normalized(value(kSingle, s[0]), 0, 65535) | normalized(value(kSingle, s[1]), 0, 65535) << 16);
  NO_MODE(v_cvt_pk_norm_i16_f16, u16(normalized(value(kHalf, s[0]), -1, 32767)) |
                                     u16(normalized(value(kHalf, s[1]), -1, 32767)) << 16);
  NO_MODE(v_cvt_pk_norm_u16_f16,
          normalized(value(kHalf, s[0]), 0, 65535) | normalized(value(kHalf, s[1]), 0, 65535) << 16);
  NO_MODE(v_cvt_pk_u8_f32, (s[2] & ~(0xffull << 8 * (s[1] & 3))) |
                               uint64_t(saturated(value(kSingle, s[0]), 0, 255)) << 8 * (s[1] & 3));
}

// Measured on gfx1100: floor(x + 0.5) of the exact sum.
TEST(ValuConvert, NearestInteger) {
  const auto nearest = [](float x) { return v_cvt_nearest_i32_f32::eval(F32(x))[1]; };
  EXPECT_EQ(nearest(-2.5f), -2);
  EXPECT_EQ(nearest(-0.5f), 0);
  EXPECT_EQ(nearest(0.5f), 1);
  EXPECT_EQ(nearest(__builtin_bit_cast(float, 0x3effffffu)), 0);
}

TEST(ValuConvert, PackingKeepsBits) {
  const uint16_t low = 0x7c01, high = 0x8001;  // a signalling NaN and a denormal
  const PairF16 result = v_pack_b32_f16::eval(bits_as<F16>(U16(low)), bits_as<F16>(U16(high)));
  EXPECT_EQ(Lane<F16>::get(result.low, 15), low);
  EXPECT_EQ(Lane<F16>::get(result.high, 0), high);
}

}  // namespace
}  // namespace lockstep::semantics
