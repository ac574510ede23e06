// Float arithmetic, selection, rounding to integers, compares, cube maps and interpolation against MPFR and
// plain rules.
#include <algorithm>
#include <cmath>

#include "semantics/vinterp.h"
#include "semantics/vop1_float.h"
#include "semantics/vop2_float.h"
#include "semantics/vop3_float.h"
#include "semantics/vopc.h"
#include "valu_float_driver.h"

namespace lockstep::semantics {
namespace {

using namespace testing;

TEST(ValuFloat, Sums) {
  EVERY_MODE(v_add_f32, add(kSingle, m, s[0], s[1]));
  EVERY_MODE(v_add_f16, add(kHalf, m, s[0], s[1]));
  EVERY_MODE(v_add_f64, add(kDouble, m, s[0], s[1]));
}

uint64_t subtract(const Format& f, RuntimeFloatMode m, uint64_t a, uint64_t b, bool reverse) {
  return calculate(f, m, {a, b}, [reverse](mpfr_ptr r, Number* s, mpfr_rnd_t rounding) {
    return reverse ? mpfr_sub(r, s[1], s[0], rounding) : mpfr_sub(r, s[0], s[1], rounding);
  });
}

TEST(ValuFloat, Differences) {
  EVERY_MODE(v_sub_f32, subtract(kSingle, m, s[0], s[1], false));
  EVERY_MODE(v_sub_f16, subtract(kHalf, m, s[0], s[1], false));
  EVERY_MODE(v_subrev_f32, subtract(kSingle, m, s[0], s[1], true));
  EVERY_MODE(v_subrev_f16, subtract(kHalf, m, s[0], s[1], true));
}

// Neither F32 denormals in nor out, whatever the mode; a zero factor gives +0.
uint64_t mul_dx9(RuntimeFloatMode m, uint64_t a, uint64_t b) {
  m.mode &= ~0x30u;
  if (!kSingle.magnitude(kSingle.flush_in(a, m)) || !kSingle.magnitude(kSingle.flush_in(b, m))) return 0;
  return mul(kSingle, m, a, b);
}
uint64_t fma_dx9(RuntimeFloatMode m, uint64_t a, uint64_t b, uint64_t c) {
  m.mode &= ~0x30u;
  if (!kSingle.magnitude(kSingle.flush_in(a, m)) || !kSingle.magnitude(kSingle.flush_in(b, m)))
    return add(kSingle, m, 0, c);
  return fma(kSingle, m, a, b, c);
}

TEST(ValuFloat, Products) {
  EVERY_MODE(v_mul_f32, mul(kSingle, m, s[0], s[1]));
  EVERY_MODE(v_mul_f16, mul(kHalf, m, s[0], s[1]));
  EVERY_MODE(v_mul_f64, mul(kDouble, m, s[0], s[1]));
  EVERY_MODE(v_mul_dx9_zero_f32, mul_dx9(m, s[0], s[1]));
}

TEST(ValuFloat, FusedMultiplyAdd) {
  EVERY_MODE(v_fma_f32, fma(kSingle, m, s[0], s[1], s[2]));
  EVERY_MODE(v_fma_f16, fma(kHalf, m, s[0], s[1], s[2]));
  EVERY_MODE(v_fma_f64, fma(kDouble, m, s[0], s[1], s[2]));
  DEFAULT_MODE(v_fmac_f32, fma(kSingle, m, s[0], s[1], s[2]));
  DEFAULT_MODE(v_fmac_f16, fma(kHalf, m, s[0], s[1], s[2]));
  DEFAULT_MODE(v_fmamk_f32, fma(kSingle, m, s[0], s[1], s[2]));
  DEFAULT_MODE(v_fmaak_f32, fma(kSingle, m, s[0], s[1], s[2]));
  DEFAULT_MODE(v_fmamk_f16, fma(kHalf, m, s[0], s[1], s[2]));
  DEFAULT_MODE(v_fmaak_f16, fma(kHalf, m, s[0], s[1], s[2]));
  EVERY_MODE(v_fma_dx9_zero_f32, fma_dx9(m, s[0], s[1], s[2]));
  DEFAULT_MODE(v_fmac_dx9_zero_f32, fma_dx9(m, s[0], s[1], s[2]));
}

TEST(ValuFloat, MinimumMaximumMedian) {
  EVERY_MODE(v_min_f32, least(kSingle, m, s[0], s[1]));
  EVERY_MODE(v_max_f32, greatest(kSingle, m, s[0], s[1]));
  EVERY_MODE(v_min_f16, least(kHalf, m, s[0], s[1]));
  EVERY_MODE(v_max_f16, greatest(kHalf, m, s[0], s[1]));
  EVERY_MODE(v_min_f64, least(kDouble, m, s[0], s[1]));
  EVERY_MODE(v_max_f64, greatest(kDouble, m, s[0], s[1]));
  EVERY_MODE(v_min3_f32, least(kSingle, m, least(kSingle, m, s[0], s[1]), s[2]));
  EVERY_MODE(v_max3_f32, greatest(kSingle, m, greatest(kSingle, m, s[0], s[1]), s[2]));
  EVERY_MODE(v_med3_f32, median(kSingle, m, s[0], s[1], s[2]));
  SOME_MODES(v_maxmin_f32, least(kSingle, m, greatest(kSingle, m, s[0], s[1]), s[2]));
  SOME_MODES(v_minmax_f32, greatest(kSingle, m, least(kSingle, m, s[0], s[1]), s[2]));
  EVERY_MODE(v_min3_f16, least(kHalf, m, least(kHalf, m, s[0], s[1]), s[2]));
  EVERY_MODE(v_max3_f16, greatest(kHalf, m, greatest(kHalf, m, s[0], s[1]), s[2]));
  EVERY_MODE(v_med3_f16, median(kHalf, m, s[0], s[1], s[2]));
  SOME_MODES(v_maxmin_f16, least(kHalf, m, greatest(kHalf, m, s[0], s[1]), s[2]));
  SOME_MODES(v_minmax_f16, greatest(kHalf, m, least(kHalf, m, s[0], s[1]), s[2]));
}

uint64_t round_to_integer(const Format& f, RuntimeFloatMode m, uint64_t x, mpfr_rnd_t direction) {
  x = f.flush_in(x, m);
  if (f.is_nan(x)) return f.quieted(x, m);
  static Number number;
  decode(f, x, number);
  mpfr_rint(number, number, direction);
  return encode(f, number);
}
uint64_t fraction(const Format& f, RuntimeFloatMode m, uint64_t x) {
  const uint64_t exact = calculate(f, m, {x}, [](mpfr_ptr r, Number* s, mpfr_rnd_t rounding) {
    static Number whole;
    mpfr_rint(whole, s[0], MPFR_RNDD);
    return mpfr_sub(r, s[0], whole, rounding);
  });
  const uint64_t one = uint64_t(f.bias) << f.fraction;
  // A remainder of zero is taken as +0 in every rounding mode (open: the guide's formula would give -0 in
  // one).
  return exact == one ? one - 1 : f.magnitude(exact) == 0 ? 0 : exact;
}

TEST(ValuFloat, RoundingToIntegers) {
  EVERY_MODE(v_trunc_f16, round_to_integer(kHalf, m, s[0], MPFR_RNDZ));
  EVERY_MODE(v_trunc_f32, round_to_integer(kSingle, m, s[0], MPFR_RNDZ));
  EVERY_MODE(v_trunc_f64, round_to_integer(kDouble, m, s[0], MPFR_RNDZ));
  EVERY_MODE(v_ceil_f16, round_to_integer(kHalf, m, s[0], MPFR_RNDU));
  EVERY_MODE(v_ceil_f32, round_to_integer(kSingle, m, s[0], MPFR_RNDU));
  EVERY_MODE(v_ceil_f64, round_to_integer(kDouble, m, s[0], MPFR_RNDU));
  EVERY_MODE(v_floor_f16, round_to_integer(kHalf, m, s[0], MPFR_RNDD));
  EVERY_MODE(v_floor_f32, round_to_integer(kSingle, m, s[0], MPFR_RNDD));
  EVERY_MODE(v_floor_f64, round_to_integer(kDouble, m, s[0], MPFR_RNDD));
  EVERY_MODE(v_rndne_f16, round_to_integer(kHalf, m, s[0], MPFR_RNDN));
  EVERY_MODE(v_rndne_f32, round_to_integer(kSingle, m, s[0], MPFR_RNDN));
  EVERY_MODE(v_rndne_f64, round_to_integer(kDouble, m, s[0], MPFR_RNDN));
  EVERY_MODE(v_fract_f16, fraction(kHalf, m, s[0]));
  EVERY_MODE(v_fract_f32, fraction(kSingle, m, s[0]));
  EVERY_MODE(v_fract_f64, fraction(kDouble, m, s[0]));
}

uint64_t scale(const Format& f, RuntimeFloatMode m, uint64_t x, int64_t exponent) {
  return calculate(f, m, {x}, [exponent](mpfr_ptr r, Number* s, mpfr_rnd_t rounding) {
    return mpfr_mul_2si(r, s[0], std::clamp<int64_t>(exponent, -9000, 9000), rounding);
  });
}
uint64_t mantissa(const Format& f, RuntimeFloatMode m, uint64_t x) {
  x = f.flush_in(x, m);
  if (f.magnitude(x) == 0 || f.magnitude(x) >= f.infinity()) return f.quieted(x, m);
  static Number number;
  decode(f, x, number);
  mpfr_set_exp(number, 0);
  return encode(f, number);
}
int exponent(const Format& f, RuntimeFloatMode m, uint64_t x) {
  x = f.flush_in(x, m);
  if (f.magnitude(x) == 0 || f.magnitude(x) >= f.infinity()) return 0;
  static Number number;
  decode(f, x, number);
  return mpfr_get_exp(number);
}

TEST(ValuFloat, ScalingAndParts) {
  EVERY_MODE(v_ldexp_f16, scale(kHalf, m, s[0], int16_t(s[1])));
  EVERY_MODE(v_ldexp_f32, scale(kSingle, m, s[0], int32_t(s[1])));
  EVERY_MODE(v_ldexp_f64, scale(kDouble, m, s[0], int32_t(s[1])));
  EVERY_MODE(v_frexp_mant_f16, mantissa(kHalf, m, s[0]));
  EVERY_MODE(v_frexp_mant_f32, mantissa(kSingle, m, s[0]));
  EVERY_MODE(v_frexp_mant_f64, mantissa(kDouble, m, s[0]));
  EVERY_MODE(v_frexp_exp_i16_f16, exponent(kHalf, m, s[0]));
  EVERY_MODE(v_frexp_exp_i32_f32, exponent(kSingle, m, s[0]));
  EVERY_MODE(v_frexp_exp_i32_f64, exponent(kDouble, m, s[0]));
}

TEST(ValuFloat, ScalingByEveryUsefulExponent) {
  for (uint32_t bits : {0x3f0u, 0x3dau, 0x300u})
    for (int exponent = -320; exponent <= 320; ++exponent)
      for (uint32_t x :
           {0x3f800000u, 0xbfc00001u, 0x00000001u, 0x807fffffu, 0x7f7fffffu, 0x00800000u, 0x3fffffffu}) {
        const RuntimeFloatMode mode{bits};
        EXPECT_EQ(bits_as<U32>(v_ldexp_f32::eval(bits_as<F32>(U32(x)), I32(exponent), mode))[9],
                  scale(kSingle, mode, x, exponent))
            << std::hex << x << ' ' << bits << std::dec << ' ' << exponent;
      }
}

// 'l' less, 'e' equal, 'g' greater, 'u' unordered.
char relation(const Format& f, RuntimeFloatMode m, uint64_t a, uint64_t b) {
  const double x = to_double(f, f.flush_in(a, m)), y = to_double(f, f.flush_in(b, m));
  return std::isnan(x) || std::isnan(y) ? 'u' : x < y ? 'l' : x > y ? 'g' : 'e';
}
bool holds(const char* relations, char relation) {
  return std::string_view(relations).find(relation) != std::string::npos;
}

#define FLOAT_COMPARES(type, format)                                                        \
  EVERY_MODE(v_cmp_lt_##type, Expected(0, holds("l", relation(format, m, s[0], s[1]))));    \
  EVERY_MODE(v_cmp_eq_##type, Expected(0, holds("e", relation(format, m, s[0], s[1]))));    \
  EVERY_MODE(v_cmp_le_##type, Expected(0, holds("le", relation(format, m, s[0], s[1]))));   \
  EVERY_MODE(v_cmp_gt_##type, Expected(0, holds("g", relation(format, m, s[0], s[1]))));    \
  EVERY_MODE(v_cmp_lg_##type, Expected(0, holds("lg", relation(format, m, s[0], s[1]))));   \
  EVERY_MODE(v_cmp_ge_##type, Expected(0, holds("ge", relation(format, m, s[0], s[1]))));   \
  EVERY_MODE(v_cmp_o_##type, Expected(0, holds("leg", relation(format, m, s[0], s[1]))));   \
  EVERY_MODE(v_cmp_u_##type, Expected(0, holds("u", relation(format, m, s[0], s[1]))));     \
  EVERY_MODE(v_cmp_nge_##type, Expected(0, holds("lu", relation(format, m, s[0], s[1]))));  \
  EVERY_MODE(v_cmp_nlg_##type, Expected(0, holds("eu", relation(format, m, s[0], s[1]))));  \
  EVERY_MODE(v_cmp_ngt_##type, Expected(0, holds("leu", relation(format, m, s[0], s[1])))); \
  EVERY_MODE(v_cmp_nle_##type, Expected(0, holds("gu", relation(format, m, s[0], s[1]))));  \
  EVERY_MODE(v_cmp_neq_##type, Expected(0, holds("lgu", relation(format, m, s[0], s[1])))); \
  EVERY_MODE(v_cmp_nlt_##type, Expected(0, holds("geu", relation(format, m, s[0], s[1])))); \
  NO_MODE(v_cmp_f_##type, Expected(0, false));                                              \
  NO_MODE(v_cmp_t_##type, Expected(0, true));

TEST(ValuFloat, Compares) {
  FLOAT_COMPARES(f16, kHalf)
  FLOAT_COMPARES(f32, kSingle)
  FLOAT_COMPARES(f64, kDouble)
}

// The class of an encoding, as the number of its bit in the test mask.
unsigned class_of(const Format& f, uint64_t x) {
  if (f.is_nan(x)) return f.is_signalling(x) ? 0 : 1;
  const unsigned size = f.magnitude(x) == 0             ? 0
                        : f.is_denormal(x)              ? 1
                        : f.magnitude(x) < f.infinity() ? 2
                                                        : 3;
  return f.is_negative(x) ? 5 - size : 6 + size;
}

TEST(ValuFloat, Classes) {
  NO_MODE(v_cmp_class_f16, Expected(0, s[1] >> class_of(kHalf, s[0]) & 1));
  NO_MODE(v_cmp_class_f32, Expected(0, s[1] >> class_of(kSingle, s[0]) & 1));
  NO_MODE(v_cmp_class_f64, Expected(0, s[1] >> class_of(kDouble, s[0]) & 1));
  for (unsigned bit = 0; bit < 32; ++bit)
    for (uint64_t x : float_values(32))
      EXPECT_EQ(bool(v_cmp_class_f32::eval(bits_as<F32>(U32(uint32_t(x))), U32(1u << bit))[5]),
                class_of(kSingle, x) == bit);
}

#define INTEGER_COMPARES(type, wide)                               \
  NO_MODE(v_cmp_lt_##type, Expected(0, wide(s[0]) < wide(s[1])));  \
  NO_MODE(v_cmp_eq_##type, Expected(0, wide(s[0]) == wide(s[1]))); \
  NO_MODE(v_cmp_le_##type, Expected(0, wide(s[0]) <= wide(s[1]))); \
  NO_MODE(v_cmp_gt_##type, Expected(0, wide(s[0]) > wide(s[1])));  \
  NO_MODE(v_cmp_ne_##type, Expected(0, wide(s[0]) != wide(s[1]))); \
  NO_MODE(v_cmp_ge_##type, Expected(0, wide(s[0]) >= wide(s[1])));

TEST(ValuFloat, IntegerCompares) {
  INTEGER_COMPARES(i16, int16_t)
  INTEGER_COMPARES(u16, uint16_t)
  INTEGER_COMPARES(i32, int32_t)
  INTEGER_COMPARES(u32, uint32_t)
  INTEGER_COMPARES(i64, int64_t)
  INTEGER_COMPARES(u64, uint64_t)
  NO_MODE(v_cmp_f_i32, Expected(0, false));
  NO_MODE(v_cmp_t_i32, Expected(0, true));
  NO_MODE(v_cmp_f_u64, Expected(0, false));
  NO_MODE(v_cmp_t_u64, Expected(0, true));
  static_assert(std::is_base_of_v<v_cmp_lt_i32, v_cmpx_lt_i32> &&
                std::is_base_of_v<v_cmp_nge_f32, v_cmpx_nge_f32>);
}

// Cube faces by the rules of the guide: the axis of largest magnitude, z before y before x.
struct CubeFace {
  char axis;
  bool negative;
};
CubeFace cube_face(Operands s, RuntimeFloatMode m) {
  const double x = to_double(kSingle, kSingle.flush_in(s[0], m)),
               y = to_double(kSingle, kSingle.flush_in(s[1], m)),
               z = to_double(kSingle, kSingle.flush_in(s[2], m));
  if (std::fabs(z) >= std::fabs(x) && std::fabs(z) >= std::fabs(y)) return {'z', z < 0};
  if (std::fabs(y) >= std::fabs(x)) return {'y', y < 0};
  return {'x', x < 0};
}
uint64_t negated(uint64_t x) {
  return x ^ 0x80000000u;
}
uint64_t cube_id(Operands s, RuntimeFloatMode m) {
  const CubeFace face = cube_face(s, m);
  return round_integer(kSingle, m, (face.axis == 'z' ? 4 : face.axis == 'y' ? 2 : 0) + face.negative);
}
uint64_t cube_s(Operands s, RuntimeFloatMode m) {
  const CubeFace face = cube_face(s, m);
  if (face.axis == 'z') return face.negative ? negated(s[0]) : s[0];
  if (face.axis == 'y') return s[0];
  return face.negative ? s[2] : negated(s[2]);
}
uint64_t cube_t(Operands s, RuntimeFloatMode m) {
  const CubeFace face = cube_face(s, m);
  if (face.axis == 'y') return face.negative ? negated(s[2]) : s[2];
  return negated(s[1]);
}
uint64_t cube_axis(Operands s, RuntimeFloatMode m) {
  const CubeFace face = cube_face(s, m);
  return mul(kSingle, m, face.axis == 'z' ? s[2] : face.axis == 'y' ? s[1] : s[0], 0x40000000);
}
uint64_t mullit(Operands s, RuntimeFloatMode m) {
  const double b = to_double(kSingle, kSingle.flush_in(s[1], m)),
               c = to_double(kSingle, kSingle.flush_in(s[2], m));
  if (!(b > -std::numeric_limits<float>::max()) || !(c > 0)) return 0xff7fffff;
  return mul_dx9(m, s[0], s[1]);
}

TEST(ValuFloat, CubeMapsAndLighting) {
  SOME_MODES(v_cubeid_f32, cube_id(s, m));
  SOME_MODES(v_cubesc_f32, cube_s(s, m));
  SOME_MODES(v_cubetc_f32, cube_t(s, m));
  SOME_MODES(v_cubema_f32, cube_axis(s, m));
  SOME_MODES(v_mullit_f32, mullit(s, m));
}

template <class Vector>
Vector random_floats(std::mt19937_64& random) {
  const auto& values = float_values(Lane<Vector>::bits);
  uint64_t lanes[kLanesPerChunk];
  for (uint64_t& lane : lanes) lane = values[random() % values.size()];
  return Lane<Vector>::from(lanes);
}

TEST(ValuFloat, InterpolationReadsItsQuad) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 400; ++round) {
    const F32 parameters = random_floats<F32>(random), other = random_floats<F32>(random),
              at = random_floats<F32>(random);
    const F16 halves = random_floats<F16>(random), other_halves = random_floats<F16>(random);
    const RuntimeFloatMode mode{kEveryMode[round % std::size(kEveryMode)]};
    const RuntimeFloatMode toward_zero{mode.mode | 0xf};
    const auto single = [](const F32& v, unsigned lane) { return Lane<F32>::get(v, lane); };
    const auto half = [](const F16& v, unsigned lane, RuntimeFloatMode m) {
      return calculate(
          kHalf, kSingle, m, {Lane<F16>::get(v, lane)},
          [](mpfr_ptr r, Number* s, mpfr_rnd_t rounding) { return mpfr_set(r, s[0], rounding); });
    };
    const auto narrow = [](uint64_t x, RuntimeFloatMode m) {
      return calculate(kSingle, kHalf, m, {x}, [](mpfr_ptr r, Number* s, mpfr_rnd_t rounding) {
        return mpfr_set(r, s[0], rounding);
      });
    };
    const F32 p10 = v_interp_p10_f32::eval(parameters, at, other, mode),
              p2 = v_interp_p2_f32::eval(parameters, at, other, mode);
    const F32 p10_half = v_interp_p10_f16_f32::eval(halves, at, other_halves, mode);
    const F32 p10_rtz = v_interp_p10_rtz_f16_f32::eval(halves, at, other_halves, mode);
    const F16 p2_half = v_interp_p2_f16_f32::eval(halves, at, other, mode);
    const F16 p2_rtz = v_interp_p2_rtz_f16_f32::eval(halves, at, other, mode);
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
      const unsigned quad = lane & ~3u;
      const uint64_t i = single(at, lane), sum = single(other, lane);
      ASSERT_EQ(single(p10, lane), fma(kSingle, mode, single(parameters, quad + 1), i, single(other, quad)));
      ASSERT_EQ(single(p2, lane), fma(kSingle, mode, single(parameters, quad + 2), i, sum));
      const auto first = [&](RuntimeFloatMode m) {
        return fma(kSingle, m, half(halves, quad + 1, m), i, half(other_halves, quad, m));
      };
      const auto second = [&](RuntimeFloatMode m) {
        return narrow(fma(kSingle, m, half(halves, quad + 2, m), i, sum), m);
      };
      ASSERT_EQ(single(p10_half, lane), first(mode));
      ASSERT_EQ(single(p10_rtz, lane), first(toward_zero));
      if (!mode.ieee()) continue;  // payloads of signalling NaNs that a half cannot hold
      ASSERT_EQ(Lane<F16>::get(p2_half, lane), second(mode)) << std::hex << mode.mode;
      ASSERT_EQ(Lane<F16>::get(p2_rtz, lane), second(toward_zero)) << std::hex << mode.mode;
    }
  }
}

}  // namespace
}  // namespace lockstep::semantics
