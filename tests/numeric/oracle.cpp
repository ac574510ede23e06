#include "tests/numeric/oracle.h"

#include <array>
#include <bit>

#include "tests/mpfr_rounding.h"

namespace lockstep::numeric::oracle {

const Format kF16{"f16", 10, 15, 16};
const Format kF32{"f32", 23, 127, 32};
const Format kF64{"f64", 52, 1023, 64};

namespace {

// Wide enough that no exact sum, product or scaling leaves it.
constexpr mpfr_exp_t kWidestExponent = 100000;

void use_wide_exponents() {
  mpfr_set_emin(-kWidestExponent);
  mpfr_set_emax(kWidestExponent);
}

uint64_t flush_by_mode(const Format& format, uint64_t x, const LaneMode& mode) {
  return mode.denorm_in ? x : format.flush(x);
}

template <class Operation>
uint64_t operate(const Format& format, const LaneMode& mode, bool finite_sources, uint64_t nan,
                 Operation operation) {
  use_wide_exponents();
  Real result(format.fraction + 1);
  const int ternary = operation(static_cast<mpfr_ptr>(result), mpfr_rounding(mode.round));
  if (mpfr_nan_p(static_cast<mpfr_ptr>(result))) return nan;
  return encode(format, result, ternary, mode.round, mode.denorm_out,
                finite_sources && format.width == 16 && mode.fp16_overflow_clamps);
}

}  // namespace

double Format::value(uint64_t x) const {
  Real exact(64);
  set_exact(exact, *this, x);
  return mpfr_get_d(exact, MPFR_RNDN);
}

LaneMode lane_mode(const Format& format, uint32_t bits) {
  const RuntimeFloatMode mode{bits};
  const bool single = format.width == 32;
  return {single ? mode.round_f32() : mode.round_f16_f64(),
          single ? mode.denorm_in_f32() : mode.denorm_in_f16_f64(),
          single ? mode.denorm_out_f32() : mode.denorm_out_f16_f64(),
          mode.ieee(),
          mode.dx10_clamp(),
          mode.fp16_overflow_clamps()};
}

void set_exact(mpfr_ptr to, const Format& format, uint64_t x) {
  const int sign = format.is_negative(x) ? -1 : 1;
  if (format.is_nan(x)) {
    mpfr_set_nan(to);
  } else if (format.is_infinite(x)) {
    mpfr_set_inf(to, sign);
  } else if (format.is_zero(x)) {
    mpfr_set_zero(to, sign);
  } else {
    const uint64_t field = (x & format.magnitude()) >> format.fraction;
    const uint64_t fraction = x & (format.min_normal() - 1);
    const uint64_t significand = field != 0 ? fraction | format.min_normal() : fraction;
    const long exponent = static_cast<long>(field != 0 ? field : 1) - format.bias - format.fraction;
    mpfr_set_ui_2exp(to, significand, exponent, MPFR_RNDN);
    if (sign < 0) mpfr_neg(to, to, MPFR_RNDN);
  }
}

uint64_t encode(const Format& format, mpfr_ptr value, int ternary, Round round, bool keeps_denormals,
                bool overflow_clamps) {
  const uint64_t sign = mpfr_signbit(value) ? format.sign() : 0;
  if (mpfr_zero_p(value)) return sign;
  if (mpfr_inf_p(value)) return sign | format.infinity();
  // MPFR's significands lie in [1/2, 1).
  if (mpfr_get_exp(value) < 2 - format.bias) {
    if (!keeps_denormals) return sign;
    mpfr_set_emin(2 - format.bias - format.fraction);
    mpfr_subnormalize(value, mpfr_check_range(value, ternary, mpfr_rounding(round)), mpfr_rounding(round));
    mpfr_set_emin(-kWidestExponent);
    if (mpfr_zero_p(value)) return sign;
  }
  const mpfr_exp_t exponent = mpfr_get_exp(value) - 1;
  if (exponent > format.bias) {
    const bool to_infinity = round == Round::nearest_even || (round == Round::plus_infinity && sign == 0) ||
                             (round == Round::minus_infinity && sign != 0);
    return sign | (format.infinity() - (overflow_clamps || !to_infinity ? 1 : 0));
  }
  const long least = 1 - format.bias;
  const long unit = (exponent < least ? least : static_cast<long>(exponent)) - format.fraction;
  Real scaled(64);
  mpfr_mul_2si(scaled, value, -unit, MPFR_RNDN);
  mpfr_abs(scaled, scaled, MPFR_RNDN);
  const uint64_t significand = mpfr_get_ui(scaled, MPFR_RNDN);
  const uint64_t field = exponent < least ? 0 : static_cast<uint64_t>(exponent + format.bias - 1);
  return sign | ((field << format.fraction) + significand);
}

uint64_t round_exact(const Format& format, mpfr_ptr exact, Round round, bool keeps_denormals,
                     bool overflow_clamps) {
  use_wide_exponents();
  Real rounded(format.fraction + 1);
  const int ternary = mpfr_set(rounded, exact, mpfr_rounding(round));
  return encode(format, rounded, ternary, round, keeps_denormals, overflow_clamps);
}

uint64_t first_nan(const Format& format, std::span<const uint64_t> operands, bool ieee) {
  for (const uint64_t x : operands) {
    if (format.is_nan(x)) return ieee ? x | format.quiet() : x;
  }
  return format.default_nan();
}

namespace {

template <class Operation>
uint64_t binary(const Format& format, uint64_t a, uint64_t b, uint32_t bits, Operation operation) {
  const LaneMode mode = lane_mode(format, bits);
  a = flush_by_mode(format, a, mode);
  b = flush_by_mode(format, b, mode);
  const uint64_t operands[] = {a, b};
  Real x(64);
  Real y(64);
  set_exact(x, format, a);
  set_exact(y, format, b);
  return operate(format, mode, format.is_finite(a) && format.is_finite(b),
                 first_nan(format, operands, mode.ieee),
                 [&](mpfr_ptr r, mpfr_rnd_t round) { return operation(r, x, y, round); });
}

}  // namespace

uint64_t add(const Format& format, uint64_t a, uint64_t b, uint32_t mode) {
  return binary(format, a, b, mode, mpfr_add);
}
uint64_t sub(const Format& format, uint64_t a, uint64_t b, uint32_t mode) {
  return binary(format, a, b, mode, mpfr_sub);
}
uint64_t mul(const Format& format, uint64_t a, uint64_t b, uint32_t mode) {
  return binary(format, a, b, mode, mpfr_mul);
}

uint64_t fma(const Format& format, uint64_t a, uint64_t b, uint64_t c, uint32_t bits) {
  const LaneMode mode = lane_mode(format, bits);
  a = flush_by_mode(format, a, mode);
  b = flush_by_mode(format, b, mode);
  c = flush_by_mode(format, c, mode);
  const bool invalid_product =
      (format.is_zero(a) && format.is_infinite(b)) || (format.is_infinite(a) && format.is_zero(b));
  const uint64_t operands[] = {a, b, invalid_product ? a : c};
  Real x(64);
  Real y(64);
  Real z(64);
  set_exact(x, format, a);
  set_exact(y, format, b);
  set_exact(z, format, c);
  const bool finite = format.is_finite(a) && format.is_finite(b) && format.is_finite(c);
  return operate(format, mode, finite, first_nan(format, operands, mode.ieee),
                 [&](mpfr_ptr r, mpfr_rnd_t round) { return mpfr_fma(r, x, y, z, round); });
}

uint64_t ldexp(const Format& format, uint64_t a, int32_t exponent, uint32_t bits) {
  const LaneMode mode = lane_mode(format, bits);
  a = flush_by_mode(format, a, mode);
  const uint64_t operands[] = {a};
  Real x(64);
  set_exact(x, format, a);
  const long clamped = exponent < -20000 ? -20000 : exponent > 20000 ? 20000 : exponent;
  return operate(format, mode, format.is_finite(a), first_nan(format, operands, mode.ieee),
                 [&](mpfr_ptr r, mpfr_rnd_t round) { return mpfr_mul_2si(r, x, clamped, round); });
}

uint64_t fract(const Format& format, uint64_t a, uint32_t bits) {
  const LaneMode mode = lane_mode(format, bits);
  a = flush_by_mode(format, a, mode);
  const uint64_t operands[] = {a};
  if (!format.is_finite(a)) return first_nan(format, operands, mode.ieee);
  Real x(64);
  Real whole(64);
  set_exact(x, format, a);
  mpfr_floor(whole, x);
  const uint64_t result = operate(format, mode, true, 0, [&](mpfr_ptr r, mpfr_rnd_t round) {
    const int ternary = mpfr_sub(r, x, whole, round);
    if (mpfr_zero_p(r)) mpfr_set_zero(r, 1);
    return ternary;
  });
  return result >= format.one() ? format.one() - 1 : result;
}

std::vector<uint64_t> edges(const Format& format) {
  const uint64_t one = format.one();
  const uint64_t infinity = format.infinity();
  const uint64_t ulp_scale = static_cast<uint64_t>(format.fraction) << format.fraction;
  std::vector<uint64_t> list = {0,
                                1,
                                2,
                                3,
                                format.min_normal() / 2,
                                format.min_normal() - 1,
                                format.min_normal(),
                                format.min_normal() + 1,
                                2 * format.min_normal() - 1,
                                2 * format.min_normal(),
                                one - 1,
                                one,
                                one + 1,
                                one + 2,
                                one + format.min_normal() / 2,
                                one + format.min_normal(),
                                one + 3 * format.min_normal() / 2,
                                one - format.min_normal(),
                                one - format.min_normal() / 2,
                                one - ulp_scale,
                                one - ulp_scale - format.min_normal(),
                                one - ulp_scale - 2 * format.min_normal(),
                                one + ulp_scale,
                                one + ulp_scale - 1,
                                one + ulp_scale + format.min_normal(),
                                infinity - format.min_normal() - 1,
                                infinity - format.min_normal(),
                                infinity - 2,
                                infinity - 1,
                                infinity,
                                infinity + 1,
                                infinity + format.quiet() - 1,
                                infinity + format.quiet(),
                                infinity + format.quiet() + 5,
                                format.magnitude()};
  const size_t count = list.size();
  for (size_t i = 0; i < count; ++i) list.push_back(list[i] | format.sign());
  return list;
}

std::vector<uint64_t> few_edges(const Format& format) {
  const uint64_t one = format.one();
  std::vector<uint64_t> list = {0,
                                1,
                                format.min_normal() - 1,
                                format.min_normal(),
                                one - 1,
                                one,
                                one + 1,
                                format.infinity() - 1,
                                format.infinity(),
                                format.infinity() + 3,
                                format.infinity() + format.quiet() + 7};
  const size_t count = list.size();
  for (size_t i = 0; i < count; ++i) list.push_back(list[i] | format.sign());
  return list;
}

uint64_t random_input(const Format& format, std::mt19937_64& random) {
  const uint64_t bits = random();
  const uint64_t any = random() & (format.magnitude() | format.sign());
  const uint64_t fraction_mask = format.min_normal() - 1;
  const auto with_exponent = [&](uint64_t field) {
    const uint64_t last = format.infinity() >> format.fraction;
    return (any & ~format.infinity()) | ((field > last ? last : field) << format.fraction);
  };
  uint64_t x = any;
  switch (bits & 7) {
    case 0:
    case 1:
      break;
    case 2:
    case 3:  // near one
      x = with_exponent(static_cast<uint64_t>(format.bias) + (bits >> 8 & 15) - 8);
      break;
    case 4:  // near the smallest normal
      x = with_exponent(bits >> 8 & 3);
      break;
    case 5: {  // where products of two reach the smallest normal
      const uint64_t half = static_cast<uint64_t>(format.bias) / 2;
      x = with_exponent(half + (bits >> 8 & 7) - 3);
      break;
    }
    case 6:  // large
      x = with_exponent((format.infinity() >> format.fraction) - 1 - (bits >> 8 & 3));
      break;
    default:
      break;
  }
  // Few significant bits make ties.
  if (bits & 0x100000) x &= ~(fraction_mask >> (bits >> 32 & 7));
  if (bits & 0x200000) x |= (fraction_mask >> 3) & ~uint64_t{bits >> 40 & 3};
  return x;
}

std::vector<uint32_t> all_modes() {
  std::vector<uint32_t> modes;
  for (uint32_t ieee = 0; ieee < 2; ++ieee) {
    for (uint32_t denorm = 0; denorm < 4; ++denorm) {
      for (uint32_t round = 0; round < 4; ++round) {
        modes.push_back(round | round << 2 | denorm << 4 | denorm << 6 | 1u << 8 | ieee << 9);
      }
    }
  }
  return modes;
}

std::string mode_text(uint32_t mode) {
  const RuntimeFloatMode m{mode};
  return "round " + std::to_string(mode & 3) + "/" + std::to_string(mode >> 2 & 3) + " denorm " +
         std::to_string(mode >> 4 & 3) + "/" + std::to_string(mode >> 6 & 3) + " ieee " +
         std::to_string(m.ieee()) + " dx10_clamp " + std::to_string(m.dx10_clamp()) + " fp16_ovfl " +
         std::to_string(m.fp16_overflow_clamps());
}

}  // namespace lockstep::numeric::oracle
