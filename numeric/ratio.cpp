#include "numeric/ratio.h"

#include "numeric/arithmetic.h"
#include "numeric/round.h"
#include "numeric/transcendental.h"

namespace {

constexpr lockstep::DefaultFloatMode kDefault;

}  // namespace

extern "C" {

void lockstep_exact_ratio_f32(const lockstep::F32* numerator, const lockstep::F32* denominator,
                              bool reciprocal_first, lockstep::F32* result) {
  using namespace lockstep;
  using namespace lockstep::numeric;
  const F32 fraction = frexp_mant(*numerator, kDefault);
  const F32 reciprocal = rcp(frexp_mant(*denominator, kDefault), kDefault);
  const F32 product =
      reciprocal_first ? mul(reciprocal, fraction, kDefault) : mul(fraction, reciprocal, kDefault);
  const I32 exponent = frexp_exp(*numerator, kDefault) - frexp_exp(*denominator, kDefault);
  *result = numeric::ldexp(product, exponent, kDefault);
}

void lockstep_exact_ratio_of_constant_f32(const lockstep::F32* numerator, const lockstep::F32* reciprocal,
                                          lockstep::F32* result) {
  using namespace lockstep;
  using namespace lockstep::numeric;
  const F32 product = mul(frexp_mant(*numerator, kDefault), frexp_mant(*reciprocal, kDefault), kDefault);
  const I32 exponent = frexp_exp(*numerator, kDefault) + frexp_exp(*reciprocal, kDefault);
  *result = numeric::ldexp(product, exponent, kDefault);
}

}  // extern "C"
