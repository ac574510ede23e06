#include "float_oracle.h"

#include <algorithm>

#include "tests/mpfr_rounding.h"

namespace lockstep::semantics::testing {
namespace {

// Rounds what `compute` gives to the format, denormals and overflow included.
uint64_t rounded(const Format& to, RuntimeFloatMode mode, Number* operands, const Compute& compute) {
  const mpfr_rnd_t rounding = mpfr_rounding(to.round(mode));
  static Number result;
  mpfr_set_prec(result, to.fraction + 1);
  if (!to.keeps_out(mode)) {
    // Whether the result is denormal is decided with unbounded exponent.
    compute(result, operands, rounding);
    if (mpfr_regular_p(result) && mpfr_get_exp(result) < 2 - to.bias)
      return mpfr_signbit(result) ? to.sign() : 0;
  }
  const mpfr_exp_t least = mpfr_get_emin(), greatest = mpfr_get_emax();
  mpfr_set_emin(2 - to.bias - int(to.fraction));
  mpfr_set_emax(to.bias + 1);
  int ternary = compute(result, operands, rounding);
  ternary = mpfr_check_range(result, ternary, rounding);
  mpfr_subnormalize(result, ternary, rounding);
  mpfr_set_emin(least);
  mpfr_set_emax(greatest);
  return mpfr_nan_p(result) ? to.default_nan() : encode(to, result);
}

uint64_t convert_nan(const Format& from, const Format& to, uint64_t nan) {
  const uint64_t payload = nan & ((1ull << from.fraction) - 1);
  const int shift = int(to.fraction) - int(from.fraction);
  const uint64_t moved = shift >= 0 ? payload << shift : payload >> -shift;
  return (from.is_negative(nan) ? to.sign() : 0) | to.infinity() | moved;
}

// Order of encodings without NaNs, -0 below +0.
int64_t order(const Format& f, uint64_t x) {
  const int64_t magnitude = f.magnitude(x);
  return f.is_negative(x) ? -magnitude - 1 : magnitude;
}

uint64_t pick(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b, bool want_least) {
  a = f.flush_in(a, mode);
  b = f.flush_in(b, mode);
  if (mode.ieee()) {
    if (f.is_signalling(a)) return a | f.quiet();
    if (f.is_signalling(b)) return b | f.quiet();
  }
  if (f.is_nan(b)) return a;
  if (f.is_nan(a)) return b;
  return (order(f, a) < order(f, b)) == want_least ? a : b;
}

// FP16_OVFL: an overflow of finite operands gives the largest half.
uint64_t saturated_half(const Format& to, RuntimeFloatMode mode, uint64_t result, bool finite_operands) {
  const bool overflow = to.bits == 16 && to.magnitude(result) == to.infinity() && finite_operands;
  return overflow && mode.fp16_overflow_clamps() ? result - 1 : result;
}

}  // namespace

void decode(const Format& format, uint64_t bits, mpfr_ptr out) {
  const int sign = format.is_negative(bits) ? -1 : 1;
  const uint64_t magnitude = format.magnitude(bits);
  const int64_t exponent = magnitude >> format.fraction;
  uint64_t fraction = magnitude & (format.least_normal() - 1);
  if (format.is_nan(bits)) {
    mpfr_set_nan(out);
  } else if (magnitude == format.infinity()) {
    mpfr_set_inf(out, sign);
  } else if (magnitude == 0) {
    mpfr_set_zero(out, sign);
  } else {
    if (exponent) fraction += format.least_normal();
    mpfr_set_ui_2exp(out, fraction, std::max<int64_t>(exponent, 1) - format.bias - int(format.fraction),
                     MPFR_RNDN);
    if (sign < 0) mpfr_neg(out, out, MPFR_RNDN);
  }
}

double to_double(const Format& format, uint64_t bits) {
  static Number number;
  decode(format, bits, number);
  return mpfr_get_d(number, MPFR_RNDN);
}

uint64_t encode(const Format& format, mpfr_ptr value) {
  const uint64_t sign = mpfr_signbit(value) ? format.sign() : 0;
  if (mpfr_inf_p(value)) return sign | format.infinity();
  if (mpfr_zero_p(value)) return sign;
  const int exponent = std::max<int>(mpfr_get_exp(value) - 1, 1 - format.bias);
  static Number scaled;
  mpfr_mul_2si(scaled, value, int(format.fraction) - exponent, MPFR_RNDN);
  const uint64_t significand = std::abs(mpfr_get_si(scaled, MPFR_RNDN));
  // The leading one of a normal significand carries into the exponent.
  return sign | ((uint64_t(exponent + format.bias - 1) << format.fraction) + significand);
}

uint64_t calculate(const Format& from, const Format& to, RuntimeFloatMode mode,
                   std::initializer_list<uint64_t> operands, const Compute& compute) {
  static Number numbers[3];
  size_t count = 0;
  bool finite = true;
  for (uint64_t operand : operands) {
    if (from.is_nan(operand)) return to.quieted(convert_nan(from, to, operand), mode);
    decode(from, from.flush_in(operand, mode), numbers[count++]);
  }
  for (size_t i = 0; i < count; ++i) finite &= mpfr_number_p(static_cast<mpfr_ptr>(numbers[i])) != 0;
  return saturated_half(to, mode, rounded(to, mode, numbers, compute), finite);
}

uint64_t round_integer(const Format& to, RuntimeFloatMode mode, int64_t value) {
  return saturated_half(
      to, mode,
      rounded(to, mode, nullptr,
              [&](mpfr_ptr r, Number*, mpfr_rnd_t rounding) { return mpfr_set_si(r, value, rounding); }),
      true);
}

uint64_t add(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b) {
  return calculate(f, mode, {a, b}, [](mpfr_ptr r, Number* s, mpfr_rnd_t rounding) {
    return mpfr_add(r, s[0], s[1], rounding);
  });
}
uint64_t mul(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b) {
  return calculate(f, mode, {a, b}, [](mpfr_ptr r, Number* s, mpfr_rnd_t rounding) {
    return mpfr_mul(r, s[0], s[1], rounding);
  });
}
uint64_t fma(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b, uint64_t c) {
  // An invalid product beats a NaN addend.
  const uint64_t x = f.magnitude(f.flush_in(a, mode)), y = f.magnitude(f.flush_in(b, mode));
  if ((x == 0 && y == f.infinity()) || (x == f.infinity() && y == 0)) return f.default_nan();
  return calculate(f, mode, {a, b, c}, [](mpfr_ptr r, Number* s, mpfr_rnd_t rounding) {
    return mpfr_fma(r, s[0], s[1], s[2], rounding);
  });
}

uint64_t least(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b) {
  return pick(f, mode, a, b, true);
}
uint64_t greatest(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b) {
  return pick(f, mode, a, b, false);
}
uint64_t median(const Format& f, RuntimeFloatMode mode, uint64_t a, uint64_t b, uint64_t c) {
  if (f.is_nan(a) || f.is_nan(b) || f.is_nan(c)) return least(f, mode, least(f, mode, a, b), c);
  const uint64_t most = greatest(f, mode, greatest(f, mode, a, b), c);
  const auto equals_most = [&](uint64_t x) {
    x = f.flush_in(x, mode);
    return x == most || (f.magnitude(x) == 0 && f.magnitude(most) == 0);
  };
  if (equals_most(a)) return greatest(f, mode, b, c);
  if (equals_most(b)) return greatest(f, mode, a, c);
  return greatest(f, mode, a, b);
}

}  // namespace lockstep::semantics::testing
