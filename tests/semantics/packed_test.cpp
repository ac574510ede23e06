// Packed math and dot products against scalar arithmetic a lane at a time: 64-bit integers, and MPFR for
// floats.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "semantics/dot_float.h"
#include "semantics/vop3p_float.h"
#include "semantics/vop3p_integer.h"

namespace lockstep::semantics {
namespace {

std::mt19937_64& random() {
  static std::mt19937_64 engine(5);
  return engine;
}

template <class T>
T random_vector(const std::vector<uint64_t>& edges) {
  T v;
  for (unsigned lane = 0; lane < 16; ++lane) {
    const uint64_t bits = random()() % 2 ? edges[random()() % edges.size()] : random()();
    auto element = v[lane];
    std::memcpy(&element, &bits, sizeof element);
    v[lane] = element;
  }
  return v;
}

const std::vector<uint64_t> kEdges16 = {0,    1,      2,      15,     16,     0x7f,  0x80,
                                        0xff, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff};
constexpr int kRounds = 2000;

template <class T>
Pair<T> random_pair(const std::vector<uint64_t>& edges = kEdges16) {
  return {random_vector<T>(edges), random_vector<T>(edges)};
}

int64_t wrap_u16(int64_t x) {
  return x & 0xffff;
}
int64_t wrap_i16(int64_t x) {
  return static_cast<int16_t>(x & 0xffff);
}
int64_t clamp_u16(int64_t x) {
  return std::clamp<int64_t>(x, 0, 0xffff);
}
int64_t clamp_i16(int64_t x) {
  return std::clamp<int64_t>(x, -0x8000, 0x7fff);
}

// Body against `exact`, wrapped; its saturating form, if it has one, against `exact` clamped.
template <class Body, class T, class Exact>
void check_two(Exact exact) {
  constexpr bool is_signed = std::is_same_v<T, I16>;
  for (int round = 0; round < kRounds; ++round) {
    const Pair<T> a = random_pair<T>(), b = random_pair<T>();
    const Pair<T> result = Body::eval(a, b);
    for (unsigned lane = 0; lane < 16; ++lane) {
      const int64_t low = exact(a.low[lane], b.low[lane]), high = exact(a.high[lane], b.high[lane]);
      ASSERT_EQ(result.low[lane], is_signed ? wrap_i16(low) : wrap_u16(low));
      ASSERT_EQ(result.high[lane], is_signed ? wrap_i16(high) : wrap_u16(high));
      if constexpr (requires { Body::saturated(a, b); }) {
        const Pair<T> clamped = Body::saturated(a, b);
        ASSERT_EQ(clamped.low[lane], is_signed ? clamp_i16(low) : clamp_u16(low));
        ASSERT_EQ(clamped.high[lane], is_signed ? clamp_i16(high) : clamp_u16(high));
      }
    }
  }
}

TEST(Packed, Integers) {
  check_two<v_pk_add_u16, U16>([](int64_t a, int64_t b) { return a + b; });
  check_two<v_pk_sub_u16, U16>([](int64_t a, int64_t b) { return a - b; });
  check_two<v_pk_add_i16, I16>([](int64_t a, int64_t b) { return a + b; });
  check_two<v_pk_sub_i16, I16>([](int64_t a, int64_t b) { return a - b; });
  check_two<v_pk_mul_lo_u16, U16>([](int64_t a, int64_t b) { return a * b; });
  check_two<v_pk_min_i16, I16>([](int64_t a, int64_t b) { return std::min(a, b); });
  check_two<v_pk_max_i16, I16>([](int64_t a, int64_t b) { return std::max(a, b); });
  check_two<v_pk_min_u16, U16>([](int64_t a, int64_t b) { return std::min(a, b); });
  check_two<v_pk_max_u16, U16>([](int64_t a, int64_t b) { return std::max(a, b); });
  check_two<v_pk_lshlrev_b16, U16>([](int64_t a, int64_t b) { return b << a % 16; });
  check_two<v_pk_lshrrev_b16, U16>([](int64_t a, int64_t b) { return b >> a % 16; });
}

TEST(Packed, ArithmeticShift) {
  for (int round = 0; round < kRounds; ++round) {
    const PairU16 count = random_pair<U16>();
    const PairI16 a = random_pair<I16>();
    const PairI16 result = v_pk_ashrrev_i16::eval(count, a);
    for (unsigned lane = 0; lane < 16; ++lane) {
      ASSERT_EQ(result.low[lane], static_cast<int>(a.low[lane]) >> count.low[lane] % 16);
      ASSERT_EQ(result.high[lane], static_cast<int>(a.high[lane]) >> count.high[lane] % 16);
    }
  }
}

TEST(Packed, MultiplyAdd) {
  for (int round = 0; round < kRounds; ++round) {
    const PairU16 a = random_pair<U16>(), b = random_pair<U16>(), c = random_pair<U16>();
    const PairI16 d = random_pair<I16>(), e = random_pair<I16>(), f = random_pair<I16>();
    const PairU16 u = v_pk_mad_u16::eval(a, b, c), us = v_pk_mad_u16::saturated(a, b, c);
    const PairI16 i = v_pk_mad_i16::eval(d, e, f), is = v_pk_mad_i16::saturated(d, e, f);
    for (unsigned lane = 0; lane < 16; ++lane) {
      const int64_t exact_u = int64_t{a.high[lane]} * b.high[lane] + c.high[lane];
      const int64_t exact_i = int64_t{d.low[lane]} * e.low[lane] + f.low[lane];
      ASSERT_EQ(u.high[lane], wrap_u16(exact_u));
      ASSERT_EQ(us.high[lane], clamp_u16(exact_u));
      ASSERT_EQ(i.low[lane], wrap_i16(exact_i));
      ASSERT_EQ(is.low[lane], clamp_i16(exact_i));
    }
  }
}

int64_t element(uint32_t word, unsigned bits, unsigned index, bool is_signed) {
  const int64_t value = word >> bits * index & ((1u << bits) - 1);
  return is_signed && value >> (bits - 1) ? value - (1 << bits) : value;
}

TEST(Packed, IntegerDots) {
  const std::vector<uint64_t> edges = {0,          0xffffffff, 0x7fffffff, 0x80000000, 0x80808080, 0x7f7f7f7f,
                                       0x88888888, 0x77777777, 0xfffffff0, 0x7ffffff0, 0x80000010, 1};
  for (int round = 0; round < kRounds; ++round) {
    const U32 a = random_vector<U32>(edges), b = random_vector<U32>(edges), c = random_vector<U32>(edges);
    const SignBits sign{(round & 1) != 0, (round & 2) != 0};
    const I32 signed_c = bits_as<I32>(c);
    const I32 dot4 = v_dot4_i32_iu8::eval(a, b, signed_c, sign),
              dot8 = v_dot8_i32_iu4::eval(a, b, signed_c, sign);
    const I32 dot4s = v_dot4_i32_iu8::saturated(a, b, signed_c, sign);
    const I32 dot8s = v_dot8_i32_iu4::saturated(a, b, signed_c, sign);
    const U32 udot4 = v_dot4_u32_u8::eval(a, b, c), udot8 = v_dot8_u32_u4::eval(a, b, c);
    const U32 udot4s = v_dot4_u32_u8::saturated(a, b, c), udot8s = v_dot8_u32_u4::saturated(a, b, c);
    for (unsigned lane = 0; lane < 16; ++lane) {
      int64_t sum4 = signed_c[lane], sum8 = signed_c[lane], usum4 = c[lane], usum8 = c[lane];
      for (unsigned i = 0; i < 4; ++i) {
        sum4 += element(a[lane], 8, i, sign.src0) * element(b[lane], 8, i, sign.src1);
        usum4 += element(a[lane], 8, i, false) * element(b[lane], 8, i, false);
      }
      for (unsigned i = 0; i < 8; ++i) {
        sum8 += element(a[lane], 4, i, sign.src0) * element(b[lane], 4, i, sign.src1);
        usum8 += element(a[lane], 4, i, false) * element(b[lane], 4, i, false);
      }
      ASSERT_EQ(dot4[lane], static_cast<int32_t>(sum4));
      ASSERT_EQ(dot8[lane], static_cast<int32_t>(sum8));
      ASSERT_EQ(udot4[lane], static_cast<uint32_t>(usum4));
      ASSERT_EQ(udot8[lane], static_cast<uint32_t>(usum8));
      ASSERT_EQ(dot4s[lane], std::clamp<int64_t>(sum4, INT32_MIN, INT32_MAX));
      ASSERT_EQ(dot8s[lane], std::clamp<int64_t>(sum8, INT32_MIN, INT32_MAX));
      ASSERT_EQ(udot4s[lane], std::clamp<int64_t>(usum4, 0, UINT32_MAX));
      ASSERT_EQ(udot8s[lane], std::clamp<int64_t>(usum8, 0, UINT32_MAX));
    }
  }
}

// Correctly rounded a * b + c by MPFR in the F16 or F32 format, nearest even; NaN results are compared as
// such.
class Exact {
 public:
  Exact() { mpfr_inits2(700, a_, b_, c_, static_cast<mpfr_ptr>(nullptr)); }
  ~Exact() { mpfr_clears(a_, b_, c_, static_cast<mpfr_ptr>(nullptr)); }

  double fma(double a, double b, double c, int precision, mpfr_exp_t least, mpfr_exp_t greatest) {
    mpfr_set_d(a_, a, MPFR_RNDN);
    mpfr_set_d(b_, b, MPFR_RNDN);
    mpfr_set_d(c_, c, MPFR_RNDN);
    mpfr_mul(a_, a_, b_, MPFR_RNDN);
    mpfr_add(c_, a_, c_, MPFR_RNDN);  // exact: the widest sum has less than 700 bits
    mpfr_t rounded;
    mpfr_init2(rounded, precision);
    int inexact = mpfr_set(rounded, c_, MPFR_RNDN);
    mpfr_set_emin(least);
    mpfr_set_emax(greatest);
    inexact = mpfr_check_range(rounded, inexact, MPFR_RNDN);
    mpfr_subnormalize(rounded, inexact, MPFR_RNDN);
    const double value = mpfr_get_d(rounded, MPFR_RNDN);
    mpfr_clear(rounded);
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    return value;
  }
  double fma_f16(double a, double b, double c) { return fma(a, b, c, 11, -23, 16); }
  double fma_f32(double a, double b, double c) { return fma(a, b, c, 24, -148, 128); }

 private:
  mpfr_t a_, b_, c_;
};

void expect_same(double actual, double wanted) {
  if (wanted != wanted) {
    ASSERT_NE(actual, actual);
    return;
  }
  ASSERT_EQ(actual, wanted);
  ASSERT_EQ(std::signbit(actual), std::signbit(wanted));
}

const std::vector<uint64_t> kHalves = {0,      0x8000, 1,      0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x7bff,
                                       0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x3555, 0x4248, 0x1400, 0x2e66};

TEST(Packed, Floats) {
  Exact exact;
  const DefaultFloatMode mode;
  for (int round = 0; round < kRounds; ++round) {
    const PairF16 a = random_pair<F16>(kHalves), b = random_pair<F16>(kHalves), c = random_pair<F16>(kHalves);
    const PairF16 fma = v_pk_fma_f16::eval(a, b, c, mode), fmac = v_pk_fmac_f16::eval(a, b, c, mode);
    const PairF16 sum = v_pk_add_f16::eval(a, b, mode), product = v_pk_mul_f16::eval(a, b, mode);
    const PairF16 least = v_pk_min_f16::eval(a, b, mode), greatest = v_pk_max_f16::eval(a, b, mode);
    for (unsigned lane = 0; lane < 16; ++lane) {
      const double x = a.high[lane], y = b.high[lane], z = c.high[lane];
      expect_same(fma.high[lane], exact.fma_f16(x, y, z));
      expect_same(fmac.low[lane], exact.fma_f16(a.low[lane], b.low[lane], c.low[lane]));
      expect_same(sum.high[lane], exact.fma_f16(x, 1, y));
      if (x * y == x * y) expect_same(product.high[lane], exact.fma_f16(x, y, std::copysign(0.0, x * y)));
      if (x < y || x > y) {
        expect_same(least.high[lane], std::min(x, y));
        expect_same(greatest.high[lane], std::max(x, y));
      }
    }
  }
}

TEST(Packed, FmaMix) {
  Exact exact;
  const DefaultFloatMode mode;
  const std::vector<uint64_t> edges = {0,          0x80000000, 0x3f800000, 0x477fe000,
                                       0x33800000, 0x387fc000, 0x7f7fffff, 1};
  for (int round = 0; round < kRounds; ++round) {
    const Mix a{random_vector<F32>(edges)}, c{random_vector<F32>(edges)};
    const F16 half = random_vector<F16>(kHalves);
    const Mix b = widen_mix(half, mode);
    const F32 wide = v_fma_mix_f32::eval(a, b, c, mode);
    const F16 low = v_fma_mixlo_f16::eval(a, b, c, mode), high = v_fma_mixhi_f16::eval(a, b, c, mode);
    for (unsigned lane = 0; lane < 16; ++lane) {
      const double wanted = exact.fma_f32(a.value[lane], half[lane], c.value[lane]);
      expect_same(wide[lane], wanted);
      expect_same(low[lane], static_cast<_Float16>(static_cast<float>(wanted)));
      expect_same(high[lane], low[lane]);
    }
  }
}

PairF16 halves(float low, float high) {
  return {F16(static_cast<_Float16>(low)), F16(static_cast<_Float16>(high))};
}
PairU16 brains(float low, float high) {
  const auto bits = [](float value) {
    return U16(static_cast<uint16_t>(__builtin_bit_cast(uint32_t, value) >> 16));
  };
  return {bits(low), bits(high)};
}

// The arithmetic is numeric/dot.h's, tested there; here: which operand goes where. The second sum was
// measured on gfx1151.
TEST(Packed, FloatDots) {
  const DefaultFloatMode mode;
  const F32 one = 1.0f, minus_one = -1.0f;
  EXPECT_EQ(v_dot2_f32_f16::eval(halves(3, 8), halves(8, 4), one, mode)[5], 57.0f);
  EXPECT_EQ(v_dot2_f32_f16::eval(halves(3, 8), halves(8, 4), minus_one, mode)[5], 55.0f + 0x1p-18f);
  EXPECT_EQ(v_dot2_f32_bf16::eval(brains(3, 8), brains(8, 4), one, mode)[0], 57.0f);
  EXPECT_EQ(v_dot2acc_f32_f16::eval(halves(2, 5), halves(7, 3), one, mode)[15], 30.0f);
  EXPECT_EQ(v_dual_dot2acc_f32_bf16::eval(brains(2, 5), brains(7, 3), one, mode)[15], 30.0f);
  EXPECT_EQ(v_dot2_f16_f16::eval(halves(2, 5), halves(7, 3), F16(static_cast<_Float16>(0.5f)), mode)[3],
            29.5f);
  const U16 sum = v_dot2_bf16_bf16::eval(brains(2, 5), brains(7, 3), brains(0.5f, 0).low, mode);
  EXPECT_EQ(sum[3], 0x41ec);  // 29.5
}

}  // namespace
}  // namespace lockstep::semantics
