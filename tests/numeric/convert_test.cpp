#include "numeric/convert.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/numeric/oracle.h"
#include "tests/sweep.h"

namespace lockstep::numeric {
namespace {

using oracle::Format;
using oracle::kF16;
using oracle::kF32;
using oracle::kF64;

std::vector<uint64_t> inputs(const Format& f, int random_count) {
  auto list = oracle::edges(f);
  std::mt19937_64 random(11);
  for (int i = 0; i < test::of_sweep(random_count, random_count / 6); ++i)
    list.push_back(oracle::random_input(f, random));
  // Integers and halves around the ends of the integer ranges.
  for (const double limit : {0.0, 1.0, 127.0, 128.0, 255.0, 256.0, 32767.0, 32768.0, 65504.0, 65535.0,
                             65536.0, 2147483647.0, 2147483648.0, 4294967295.0, 4294967296.0}) {
    for (const double step : {-1.0, -0.5, -0x1p-20, 0.0, 0x1p-20, 0.5, 1.0}) {
      for (const double sign : {1.0, -1.0}) {
        oracle::Real value(64);
        mpfr_set_d(value, sign * (limit + step), MPFR_RNDN);
        list.push_back(oracle::round_exact(f, value, Round::nearest_even, true));
      }
    }
  }
  while (list.size() % kLanesPerChunk != 0) list.push_back(0);
  return list;
}

template <class From, class Chunk, class Oracle>
void check(const char* name, std::span<const uint64_t> list, Chunk chunk, Oracle oracle) {
  int failures = 0;
  for (size_t start = 0; start < list.size(); start += kLanesPerChunk) {
    const auto result = chunk(oracle::vector_of<From>(list.subspan(start, kLanesPerChunk)));
    for (unsigned i = 0; i < kLanesPerChunk; ++i) {
      const uint64_t expected = oracle(list[start + i]);
      if (oracle::lane_of(result, i) == expected) continue;
      ADD_FAILURE() << name << std::hex << "(" << list[start + i] << ") = " << oracle::lane_of(result, i)
                    << ", expected " << expected;
      if (++failures == 5) return;
    }
  }
}

// A NaN in another format: the upper payload bits, quieted by IEEE; it stays a NaN.
uint64_t convert_nan(const Format& from, const Format& to, uint64_t x, bool ieee) {
  const int shift = to.fraction - from.fraction;
  const uint64_t fraction = x & (from.min_normal() - 1);
  uint64_t payload = shift >= 0 ? fraction << shift : fraction >> -shift;
  if (ieee || payload == 0) payload |= to.quiet();
  return (from.is_negative(x) ? to.sign() : 0) | to.infinity() | payload;
}

uint64_t convert_oracle(const Format& from, const Format& to, uint64_t x, uint32_t bits, Round round) {
  const auto source = oracle::lane_mode(from, bits);
  const auto target = oracle::lane_mode(to, bits);
  if (!source.denorm_in) x = from.flush(x);
  if (from.is_nan(x)) return convert_nan(from, to, x, source.ieee);
  oracle::Real value(64);
  oracle::set_exact(value, from, x);
  return oracle::round_exact(to, value, round, target.denorm_out,
                             to.width == 16 && target.fp16_overflow_clamps && from.is_finite(x));
}

TEST(ConvertFloats, InEveryMode) {
  const auto f16 = inputs(kF16, 3000);
  const auto f32 = inputs(kF32, 20000);
  const auto f64 = inputs(kF64, 20000);
  for (const uint32_t base : oracle::all_modes()) {
    for (const uint32_t mode : {base, base | 1u << 23}) {
      const RuntimeFloatMode m{mode};
      // Whether the output denormals of the target are kept: widening is exact, so only F16 and F32 results
      // matter.
      check<F16>(
          "f16_to_f32", f16, [m](F16 x) { return f16_to_f32(x, m); },
          [&](uint64_t x) { return convert_oracle(kF16, kF32, x, mode, m.round_f32()); });
      check<F32>(
          "f32_to_f64", f32, [m](F32 x) { return f32_to_f64(x, m); },
          [&](uint64_t x) { return convert_oracle(kF32, kF64, x, mode, m.round_f16_f64()); });
      check<F32>(
          "f32_to_f16", f32, [m](F32 x) { return f32_to_f16(x, m); },
          [&](uint64_t x) { return convert_oracle(kF32, kF16, x, mode, m.round_f16_f64()); });
      check<F64>(
          "f64_to_f32", f64, [m](F64 x) { return f64_to_f32(x, m); },
          [&](uint64_t x) { return convert_oracle(kF64, kF32, x, mode, m.round_f32()); });
      check<F32>(
          "f32_to_f16_rtz", f32, [m](F32 x) { return f32_to_f16_rtz(x, m); },
          [&](uint64_t x) { return convert_oracle(kF32, kF16, x, mode, Round::to_zero); });
      if (::testing::Test::HasFailure()) FAIL() << oracle::mode_text(mode);
    }
  }
  constexpr auto nearest = Round::nearest_even;
  check<F32>(
      "default f32_to_f16", f32, [](F32 x) { return f32_to_f16(x, DefaultFloatMode{}); },
      [&](uint64_t x) { return convert_oracle(kF32, kF16, x, kDefaultFloatMode, nearest); });
  check<F64>(
      "default f64_to_f32", f64, [](F64 x) { return f64_to_f32(x, DefaultFloatMode{}); },
      [&](uint64_t x) { return convert_oracle(kF64, kF32, x, kDefaultFloatMode, nearest); });
}

TEST(ConvertFloats, BrainFloat) {
  const Format bf16{"bf16", 7, 127, 16};
  const auto list = inputs(kF32, 200000);
  check<F32>(
      "f32_to_bf16", list, [](F32 x) { return f32_to_bf16(x); },
      [&](uint64_t x) {
        if (kF32.is_nan(x)) return x >> 16 | bf16.quiet();
        oracle::Real value(64);
        oracle::set_exact(value, kF32, x);
        return oracle::round_exact(bf16, value, Round::nearest_even, true);
      });
  check<F32>(
      "f32_to_bf16_rtz", list, [](F32 x) { return f32_to_bf16_rtz(x); },
      [&](uint64_t x) {
        if (kF32.is_nan(x)) return x >> 16 | bf16.quiet();
        oracle::Real value(64);
        oracle::set_exact(value, kF32, x);
        return oracle::round_exact(bf16, value, Round::to_zero, true);
      });
  EXPECT_EQ(to_bits(bf16_to_f32(U16(0xc049)))[0], 0xc0490000u);
}

// Operation applied to the exact value, then saturated; NaN gives 0.
template <class Operation>
uint64_t integer_oracle(const Format& f, uint64_t x, double low, double high, uint64_t width_mask,
                        Operation operation) {
  if (f.is_nan(x)) return 0;
  oracle::Real value(128);
  oracle::set_exact(value, f, x);
  operation(static_cast<mpfr_ptr>(value));
  double number = mpfr_get_d(value, MPFR_RNDN);  // integers in range are exact
  number = number < low ? low : number > high ? high : number;
  return static_cast<uint64_t>(static_cast<int64_t>(number)) & width_mask;
}
constexpr uint64_t kMask16 = 0xffff;
constexpr uint64_t kMask32 = 0xffffffff;
const auto truncate = [](mpfr_ptr x) { mpfr_trunc(x, x); };

TEST(ConvertToIntegers, SaturateAndTruncate) {
  const auto f16 = inputs(kF16, 5000);
  const auto f32 = inputs(kF32, 200000);
  const auto f64 = inputs(kF64, 100000);
  check<F32>("f32_to_i32", f32, f32_to_i32,
             [](uint64_t x) { return integer_oracle(kF32, x, INT32_MIN, INT32_MAX, kMask32, truncate); });
  check<F32>("f32_to_u32", f32, f32_to_u32,
             [](uint64_t x) { return integer_oracle(kF32, x, 0, UINT32_MAX, kMask32, truncate); });
  check<F64>("f64_to_i32", f64, f64_to_i32,
             [](uint64_t x) { return integer_oracle(kF64, x, INT32_MIN, INT32_MAX, kMask32, truncate); });
  check<F64>("f64_to_u32", f64, f64_to_u32,
             [](uint64_t x) { return integer_oracle(kF64, x, 0, UINT32_MAX, kMask32, truncate); });
  check<F32>("f32_to_i16", f32, f32_to_i16,
             [](uint64_t x) { return integer_oracle(kF32, x, INT16_MIN, INT16_MAX, kMask16, truncate); });
  check<F32>("f32_to_u16", f32, f32_to_u16,
             [](uint64_t x) { return integer_oracle(kF32, x, 0, UINT16_MAX, kMask16, truncate); });
  check<F16>("f16_to_i16", f16, f16_to_i16,
             [](uint64_t x) { return integer_oracle(kF16, x, INT16_MIN, INT16_MAX, kMask16, truncate); });
  check<F16>("f16_to_u16", f16, f16_to_u16,
             [](uint64_t x) { return integer_oracle(kF16, x, 0, UINT16_MAX, kMask16, truncate); });
  const auto floor_oracle = [](uint64_t x) {
    return integer_oracle(kF32, x, INT32_MIN, INT32_MAX, kMask32, [](mpfr_ptr v) { mpfr_floor(v, v); });
  };
  check<F32>(
      "f32_to_i32_floor", f32, [](F32 x) { return f32_to_i32_floor(x, DefaultFloatMode{}); }, floor_oracle);
  // MODE 0 flushes the input.
  check<F32>(
      "f32_to_i32_floor, flushed", f32, [](F32 x) { return f32_to_i32_floor(x, RuntimeFloatMode{0}); },
      [&](uint64_t x) {
        const bool is_denormal = (x & 0x7f800000) == 0;
        return floor_oracle(is_denormal ? x & 0x80000000 : x);
      });
  check<F32>("f32_to_i32_nearest", f32, f32_to_i32_nearest, [](uint64_t x) {
    return integer_oracle(kF32, x, INT32_MIN, INT32_MAX, kMask32, [](mpfr_ptr v) {
      // Exact unless |v| is tiny, where rounding down gives the same floor.
      mpfr_add_d(v, v, 0.5, MPFR_RNDD);
      mpfr_floor(v, v);
    });
  });
  check<F32>(
      "cvt_pk_u8_f32", f32, [](F32 x) { return cvt_pk_u8_f32(x, U32(6), U32(0x11223344)); },
      [](uint64_t x) { return 0x11003344u | integer_oracle(kF32, x, 0, 255, 0xff, truncate) << 16; });
}

TEST(ConvertToIntegers, CapturedNearest) {
  const auto nearest = [](uint32_t bits) { return f32_to_i32_nearest(splat_bits<F32>(bits))[0]; };
  EXPECT_EQ(nearest(0xc0200000), -2);  // -2.5
  EXPECT_EQ(nearest(0xbf000000), 0);   // -0.5
  EXPECT_EQ(nearest(0x3effffff), 0);
  EXPECT_EQ(nearest(0x3f000000), 1);
}

uint64_t normalized_oracle(const Format& f, uint64_t x, double low, double scale) {
  if (f.is_nan(x)) return 0;
  oracle::Real value(128);
  oracle::set_exact(value, f, x);
  if (mpfr_cmp_d(value, low) < 0) mpfr_set_d(value, low, MPFR_RNDN);
  if (mpfr_cmp_d(value, 1.0) > 0) mpfr_set_d(value, 1.0, MPFR_RNDN);
  mpfr_mul_d(value, value, scale, MPFR_RNDN);
  mpfr_rint(value, value, MPFR_RNDN);
  return static_cast<uint64_t>(mpfr_get_si(value, MPFR_RNDN)) & kMask16;
}

TEST(ConvertToIntegers, Normalized) {
  const auto f16 = inputs(kF16, 5000);
  const auto f32 = inputs(kF32, 100000);
  check<F32>("snorm", f32, f32_to_snorm16,
             [](uint64_t x) { return normalized_oracle(kF32, x, -1.0, 32767.0); });
  check<F32>("unorm", f32, f32_to_unorm16,
             [](uint64_t x) { return normalized_oracle(kF32, x, 0.0, 65535.0); });
  check<F16>("snorm", f16, f16_to_snorm16,
             [](uint64_t x) { return normalized_oracle(kF16, x, -1.0, 32767.0); });
  check<F16>("unorm", f16, f16_to_unorm16,
             [](uint64_t x) { return normalized_oracle(kF16, x, 0.0, 65535.0); });
}

TEST(ConvertFromIntegers, InEveryRounding) {
  std::mt19937_64 random(13);
  std::vector<uint64_t> words = {0,          1,         0xffffffff, 0x80000000, 0x7fffffff,
                                 0x80000001, 0x1000001, 0x1000003,  0xff000001};
  while (words.size() < 4096) words.push_back((random() & kMask32) >> (random() & 31));
  std::vector<uint64_t> shorts;
  for (uint64_t i = 0; i < 65536; ++i) shorts.push_back(i);
  const auto rounded = [](const Format& to, long value, Round round, bool clamps) {
    oracle::Real exact(64);
    mpfr_set_si(exact, value, MPFR_RNDN);
    return oracle::round_exact(to, exact, round, true, clamps);
  };
  for (uint32_t round = 0; round < 4; ++round) {
    for (const uint32_t clamps : {0u, 1u}) {
      const RuntimeFloatMode m{kDefaultFloatMode | round | round << 2 | clamps << 23};
      const auto r = static_cast<Round>(round);
      check<I32>(
          "i32_to_f32", words, [m](I32 x) { return i32_to_f32(x, m); },
          [&](uint64_t x) { return rounded(kF32, static_cast<int32_t>(x), r, false); });
      check<U32>(
          "u32_to_f32", words, [m](U32 x) { return u32_to_f32(x, m); },
          [&](uint64_t x) { return rounded(kF32, static_cast<long>(x), r, false); });
      check<I16>(
          "i16_to_f16", shorts, [m](I16 x) { return i16_to_f16(x, m); },
          [&](uint64_t x) { return rounded(kF16, static_cast<int16_t>(x), r, clamps != 0); });
      check<U16>(
          "u16_to_f16", shorts, [m](U16 x) { return u16_to_f16(x, m); },
          [&](uint64_t x) { return rounded(kF16, static_cast<long>(x), r, clamps != 0); });
    }
  }
  check<I32>("i32_to_f64", words, i32_to_f64,
             [&](uint64_t x) { return rounded(kF64, static_cast<int32_t>(x), Round::nearest_even, false); });
  check<U32>("u32_to_f64", words, u32_to_f64,
             [&](uint64_t x) { return rounded(kF64, static_cast<long>(x), Round::nearest_even, false); });
  for (unsigned byte = 0; byte < 4; ++byte) {
    check<U32>(
        "ubyte_to_f32", words, [byte](U32 x) { return ubyte_to_f32(x, byte); },
        [&](uint64_t x) {
          return rounded(kF32, static_cast<long>(x >> (8 * byte) & 0xff), Round::nearest_even, false);
        });
  }
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(off_i4_to_f32(U32(0xabcdef0u + static_cast<unsigned>(i)))[0],
              static_cast<float>((i ^ 8) - 8) / 16.0f);
  }
}

TEST(Packing, SaturatesAndPlaces) {
  EXPECT_EQ(cvt_pk_i16_i32(I32(40000), I32(-40000))[0], 0x80007fffu);
  EXPECT_EQ(cvt_pk_u16_u32(U32(70000), U32(5))[0], 0x0005ffffu);
  EXPECT_EQ(cvt_pk_i16_f32(F32(-1.5f), F32(2.0f))[0], 0x0002ffffu);
  EXPECT_EQ(cvt_pk_rtz_f16_f32(F32(65519.0f), F32(-1.0f), DefaultFloatMode{})[0], 0xbc007bffu);
}

}  // namespace
}  // namespace lockstep::numeric
