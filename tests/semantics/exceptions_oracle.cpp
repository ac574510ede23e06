#include "exceptions_oracle.h"

#include <algorithm>

#include "tests/mpfr_rounding.h"

namespace lockstep::semantics::testing {
namespace {

bool is_regular(mpfr_ptr x) {
  return mpfr_regular_p(x) != 0;
}

// Exponents as MPFR counts them: of a significand in [0.5, 1).
mpfr_exp_t least_exponent(const Format& f) {
  return 2 - f.bias;
}
mpfr_exp_t greatest_exponent(const Format& f) {
  return f.bias + 1;
}

}  // namespace

uint32_t of_operand(const Format& f, uint64_t x) {
  return (f.is_signalling(x) ? uint32_t{kInvalid} : 0) | (f.is_denormal(x) ? uint32_t{kInputDenormal} : 0);
}
uint32_t of_operands(const Format& f, std::initializer_list<uint64_t> operands) {
  uint32_t exceptions = 0;
  for (uint64_t x : operands) exceptions |= of_operand(f, x);
  return exceptions;
}

Rounding rounding_for(const Format& to, RuntimeFloatMode mode) {
  return {mpfr_rounding(to.round(mode)), to.keeps_out(mode)};
}

uint32_t of_computation(const Format& to, Rounding rounding, Number* operands, const Compute& compute) {
  static Number result;
  mpfr_set_prec(result, to.fraction + 1);
  mpfr_clear_flags();
  compute(result, operands, rounding.direction);
  if (mpfr_nanflag_p()) return kInvalid;
  if (mpfr_divby0_p()) return kDivideByZero;
  if (!is_regular(result)) return 0;
  // With unbounded exponent: this is how gfx11 decides whether a result is too small (measured for flushing).
  const bool tiny = mpfr_get_exp(result) < least_exponent(to);

  const mpfr_exp_t least = mpfr_get_emin(), greatest = mpfr_get_emax();
  mpfr_set_emin(least_exponent(to) - static_cast<int>(to.fraction));
  mpfr_set_emax(greatest_exponent(to));
  mpfr_clear_flags();
  int ternary = compute(result, operands, rounding.direction);
  ternary = mpfr_check_range(result, ternary, rounding.direction);
  ternary = mpfr_subnormalize(result, ternary, rounding.direction);
  const bool overflow = mpfr_overflow_p() != 0;
  mpfr_set_emin(least);
  mpfr_set_emax(greatest);

  uint32_t exceptions = ternary != 0 ? uint32_t{kInexact} : 0;
  if (overflow) exceptions |= kOverflow;
  if (tiny) exceptions |= kUnderflow | (rounding.keeps_denormals ? 0 : kInexact);
  return exceptions;
}

uint32_t of_calculation(const Format& from, const Format& to, RuntimeFloatMode mode,
                        std::initializer_list<uint64_t> operands, const Compute& compute) {
  static Number numbers[3];
  const uint32_t exceptions = of_operands(from, operands);
  size_t count = 0;
  for (uint64_t x : operands) {
    if (from.is_nan(x)) return exceptions;
    decode(from, from.flush_in(x, mode), numbers[count++]);
  }
  return exceptions | of_computation(to, rounding_for(to, mode), numbers, compute);
}

uint32_t of_sum(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b) {
  return of_calculation(f, f, mode, {a, b}, [](mpfr_ptr r, Number* s, mpfr_rnd_t rounding) {
    return mpfr_add(r, s[0], s[1], rounding);
  });
}
uint32_t of_product(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b) {
  return of_calculation(f, f, mode, {a, b}, [](mpfr_ptr r, Number* s, mpfr_rnd_t rounding) {
    return mpfr_mul(r, s[0], s[1], rounding);
  });
}
uint32_t of_fma(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b, uint64_t c) {
  const uint32_t invalid_product = of_product(f, mode, a, b) & kInvalid;
  return invalid_product | of_operands(f, {a, b, c}) |
         of_calculation(f, f, mode, {a, b, c}, [](mpfr_ptr r, Number* s, mpfr_rnd_t rounding) {
           return mpfr_fma(r, s[0], s[1], s[2], rounding);
         });
}
uint32_t of_fma_dx9(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b, uint64_t c) {
  const RuntimeFloatMode flushing{mode.mode & ~0x30u};
  const auto is_zero = [&](uint64_t x) { return f.magnitude(f.flush_in(x, flushing)) == 0; };
  if (is_zero(a) || is_zero(b)) return of_operands(f, {a, b}) | of_sum(f, flushing, 0, c);
  return of_fma(f, flushing, a, b, c);
}
uint32_t of_ldexp(const Format& f, RuntimeFloatMode mode, uint64_t x, int64_t exponent) {
  return of_calculation(f, f, mode, {x}, [exponent](mpfr_ptr r, Number* s, mpfr_rnd_t rounding) {
    return mpfr_mul_2si(r, s[0], std::clamp<int64_t>(exponent, -9000, 9000), rounding);
  });
}
uint32_t of_fraction(const Format& f, RuntimeFloatMode mode, uint64_t x) {
  return of_calculation(f, f, mode, {x}, [](mpfr_ptr r, Number* s, mpfr_rnd_t rounding) {
    static Number whole;
    mpfr_set_prec(whole, 256);
    mpfr_rint(whole, s[0], MPFR_RNDD);
    return mpfr_sub(r, s[0], whole, rounding);
  });
}
uint32_t of_conversion(const Format& from, const Format& to, RuntimeFloatMode mode, uint64_t x) {
  return of_calculation(from, to, mode, {x}, [](mpfr_ptr r, Number* s, mpfr_rnd_t rounding) {
    return mpfr_set(r, s[0], rounding);
  });
}
uint32_t of_conversion_rtz(const Format& from, const Format& to, RuntimeFloatMode mode, uint64_t x) {
  return of_conversion(from, to, RuntimeFloatMode{mode.mode | (to.bits == 32 ? 0x3u : 0xcu)}, x);
}
uint32_t of_integer(const Format& to, RuntimeFloatMode mode, int64_t value) {
  return of_computation(
      to, rounding_for(to, mode), nullptr,
      [value](mpfr_ptr r, Number*, mpfr_rnd_t rounding) { return mpfr_set_si(r, value, rounding); });
}

uint32_t to_integer(const Format& from, RuntimeFloatMode mode, uint64_t x, int64_t least, int64_t greatest,
                    bool clamp) {
  const uint32_t exceptions = of_operand(from, x);
  static Number number, whole;
  decode(from, from.flush_in(x, mode), number);
  if (!mpfr_number_p(number)) return exceptions | kInvalid;
  const int direction = mpfr_rint_trunc(whole, number, MPFR_RNDN);
  if (mpfr_cmp_si(whole, least) < 0 || mpfr_cmp_si(whole, greatest) > 0) return exceptions | kInvalid;
  return exceptions | (direction != 0 || mpfr_cmp(whole, number) != 0 ? (clamp ? uint32_t{kInexact} : 0) : 0);
}

uint32_t of_div_fixup(const Format& f, RuntimeFloatMode mode, uint64_t denominator, uint64_t numerator) {
  constexpr uint32_t kOfTheDivision = kInvalid | kInputDenormal | kDivideByZero;
  return kOfTheDivision &
         of_calculation(f, f, mode, {numerator, denominator}, [](mpfr_ptr r, Number* s, mpfr_rnd_t rounding) {
           return mpfr_div(r, s[0], s[1], rounding);
         });
}

uint32_t of_div_fmas(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b, uint64_t c, bool vcc) {
  const RuntimeFloatMode keeping{mode.mode | 0x50u};
  const int size = f.bits == 32 ? 64 : 128;
  const uint64_t two = uint64_t(f.bias + 1) << f.fraction;
  const int scale = !vcc ? 0 : f.magnitude(c) >= two ? size : -size;
  const uint32_t exceptions = of_operands(f, {a, b, c}) | (of_product(f, keeping, a, b) & kInvalid) |
                              (of_fma(f, keeping, a, b, c) & kInvalid);
  if (exceptions & kInvalid || f.is_nan(a) || f.is_nan(b) || f.is_nan(c)) return exceptions;
  static Number operands[3], exact[1];
  decode(f, a, operands[0]);
  decode(f, b, operands[1]);
  decode(f, c, operands[2]);
  mpfr_set_prec(exact[0], f.bits == 32 ? 900 : 4600);
  mpfr_fma(exact[0], operands[0], operands[1], operands[2], MPFR_RNDN);
  mpfr_mul_2si(exact[0], exact[0], scale, MPFR_RNDN);
  return exceptions |
         of_computation(f, rounding_for(f, mode), exact, [](mpfr_ptr r, Number* s, mpfr_rnd_t rounding) {
           return mpfr_set(r, s[0], rounding);
         });
}

uint32_t of_mix(const Format* f, RuntimeFloatMode mode, const uint64_t* x, bool to_half) {
  static Number numbers[3], rounded[1];
  uint32_t exceptions = 0;
  bool nan[3];
  for (int i = 0; i < 3; ++i) {
    exceptions |= of_operand(f[i], x[i]);
    decode(f[i], f[i].flush_in(x[i], mode), numbers[i]);
    nan[i] = f[i].is_nan(x[i]);
  }
  const auto multiply = [](mpfr_ptr r, Number* s, mpfr_rnd_t rounding) {
    return mpfr_mul(r, s[0], s[1], rounding);
  };
  const auto fuse = [](mpfr_ptr r, Number* s, mpfr_rnd_t rounding) {
    return mpfr_fma(r, s[0], s[1], s[2], rounding);
  };
  const Rounding single = rounding_for(kSingle, mode);
  if (nan[0] || nan[1]) return exceptions;
  exceptions |= of_computation(kSingle, single, numbers, multiply) & kInvalid;
  if (nan[2]) return exceptions;
  exceptions |= of_computation(kSingle, single, numbers, fuse);
  if (!to_half || exceptions & kInvalid) return exceptions;
  // The result of the first rounding, by the oracle of the values; flushing it would lose what it still is.
  const RuntimeFloatMode keeping{mode.mode | 0x30u};
  mpfr_set_prec(rounded[0], 256);
  static Number result;
  mpfr_set_prec(result, 24);
  const mpfr_exp_t least = mpfr_get_emin(), greatest = mpfr_get_emax();
  mpfr_set_emin(least_exponent(kSingle) - 23);
  mpfr_set_emax(greatest_exponent(kSingle));
  int ternary = fuse(result, numbers, rounding_for(kSingle, keeping).direction);
  ternary = mpfr_check_range(result, ternary, single.direction);
  mpfr_subnormalize(result, ternary, single.direction);
  mpfr_set_emin(least);
  mpfr_set_emax(greatest);
  mpfr_set(rounded[0], result, MPFR_RNDN);
  return exceptions | of_computation(kHalf, rounding_for(kHalf, mode), rounded,
                                     [](mpfr_ptr r, Number* s, mpfr_rnd_t rounding) {
                                       return mpfr_set(r, s[0], rounding);
                                     });
}

uint32_t of_function(const Format& f, bool keeps_denormals, uint64_t x, uint64_t result,
                     const Compute& function) {
  const uint32_t exceptions = of_operand(f, x);
  if (f.is_nan(x)) return exceptions;
  static Number operand[1], truth, returned;
  decode(f, f.is_denormal(x) && !keeps_denormals ? x & f.sign() : x, operand[0]);
  mpfr_set_prec(truth, 400);
  mpfr_clear_flags();
  const int ternary = function(truth, operand, MPFR_RNDN);
  if (mpfr_nanflag_p()) return exceptions | kInvalid;
  if (mpfr_divby0_p()) return exceptions | kDivideByZero;
  if (mpfr_inf_p(operand[0])) return exceptions;
  if (f.magnitude(result) == f.infinity()) return exceptions | kOverflow | kInexact;
  decode(f, result, returned);
  // MPFR's own exponents end somewhere too.
  const bool is_zero = mpfr_zero_p(truth) && !mpfr_underflow_p();
  const bool is_small = f.magnitude(result) < f.least_normal() && !is_zero;
  return exceptions | (ternary != 0 || !mpfr_equal_p(truth, returned) ? uint32_t{kInexact} : 0) |
         (is_small ? uint32_t{kUnderflow} : 0);
}

uint32_t of_dot(const Format& elements, const Format& to, RuntimeFloatMode mode, const uint64_t* x,
                uint64_t result) {
  const uint32_t exceptions = of_operands(elements, {x[0], x[1], x[2], x[3]}) | of_operand(to, x[4]);
  static Number parts[5], products[2], sum, returned;
  bool nan = to.is_nan(x[4]);
  for (int i = 0; i < 4; ++i) {
    const bool flushes = elements.fraction == kBrain.fraction && elements.is_denormal(x[i]);
    decode(elements, flushes ? x[i] & elements.sign() : x[i], parts[i]);
    nan |= elements.is_nan(x[i]);
  }
  const bool keeps = to.bias == 127 ? mode.denorm_in_f32() : mode.denorm_in_f16_f64();
  decode(to, to.is_denormal(x[4]) && !keeps ? x[4] & to.sign() : x[4], parts[4]);
  bool invalid = false;
  for (int i = 0; i < 2; ++i) {  // src0 low, high; src1 low, high
    mpfr_mul(products[i], parts[i], parts[2 + i], MPFR_RNDN);
    invalid |= mpfr_nan_p(products[i]) && !elements.is_nan(x[i]) && !elements.is_nan(x[2 + i]);
  }
  if (invalid) return exceptions | kInvalid;
  if (nan) return exceptions;
  mpfr_set_prec(sum, 1200);
  mpfr_add(sum, products[0], products[1], MPFR_RNDN);
  const bool products_clash = mpfr_nan_p(sum) != 0;
  mpfr_add(sum, sum, parts[4], MPFR_RNDN);
  if (products_clash || mpfr_nan_p(sum)) return exceptions | kInvalid;
  if (mpfr_inf_p(sum)) return exceptions;
  if (to.magnitude(result) == to.infinity() ||
      (mpfr_regular_p(sum) && mpfr_get_exp(sum) > greatest_exponent(to)))
    return exceptions | kOverflow | kInexact;
  decode(to, result, returned);
  uint32_t own = mpfr_equal_p(sum, returned) ? 0 : uint32_t{kInexact};
  const bool small_sum = mpfr_regular_p(sum) && mpfr_get_exp(sum) < least_exponent(to);
  if (!mpfr_zero_p(sum) && (to.is_denormal(result) || (to.magnitude(result) == 0 && small_sum)))
    own |= kUnderflow;
  return exceptions | own;
}

}  // namespace lockstep::semantics::testing
