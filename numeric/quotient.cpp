#include "numeric/quotient.h"

#include "numeric/transcendental.h"

namespace lockstep::numeric {
namespace {

constexpr DefaultFloatMode kDefault;

template <class Float>
Float by_steps(Float n, Float d) {
  constexpr bool kIsDouble = sizeof(Float) == sizeof(F64);
  const auto scaled_n = div_scale(n, d, n, kDefault);
  const Float divisor = div_scale(d, d, n, kDefault).value, minus_d = -divisor;
  Float reciprocal = rcp(divisor, kDefault);
  for (int step = 0; step < (kIsDouble ? 2 : 1); ++step)
    reciprocal = fma(reciprocal, fma(minus_d, reciprocal, Float(1), kDefault), reciprocal, kDefault);
  Float quotient = mul(scaled_n.value, reciprocal, kDefault);
  Float rest = fma(minus_d, quotient, scaled_n.value, kDefault);
  if (!kIsDouble) {
    quotient = fma(rest, reciprocal, quotient, kDefault);
    rest = fma(minus_d, quotient, scaled_n.value, kDefault);
  }
  return div_fmas(rest, reciprocal, quotient, scaled_n.needs_scaling, kDefault);
}

template <class Float>
Float exact_quotient(Float n, Float d) {
  using L = Layout<Float>;
  const auto is_number = [](Float x) { return ~zero_lanes(x) & (magnitude(x) < IntOf<Float>(L::kInfinity)); };
  const IntOf<Float> difference = detail::encoded_exponent(n) - detail::encoded_exponent(d);
  constexpr int kHuge = detail::DivisionLimits<Float>::kHuge;
  const IntOf<Float> far = is_number(n) & is_number(d) & ((difference >= kHuge) | (difference <= -kHuge));
  Float quotient = n / d;
  if (any(mask_of(far))) quotient = far ? by_steps(far ? n : Float(1), far ? d : Float(1)) : quotient;
  return div_fixup(quotient, d, n, kDefault);
}

}  // namespace
}  // namespace lockstep::numeric

extern "C" {

void lockstep_exact_quotient_f32(const lockstep::F32* numerator, const lockstep::F32* denominator,
                                 lockstep::F32* result) {
  *result = lockstep::numeric::exact_quotient(*numerator, *denominator);
}

void lockstep_exact_quotient_f64(const lockstep::F64* numerator, const lockstep::F64* denominator,
                                 lockstep::F64* result) {
  *result = lockstep::numeric::exact_quotient(*numerator, *denominator);
}

}  // extern "C"
