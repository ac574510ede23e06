#include "numeric/square_root.h"

#include "numeric/arithmetic.h"
#include "numeric/transcendental.h"

extern "C" void lockstep_exact_square_root_f32(const lockstep::F32* x, lockstep::F32* result) {
  using namespace lockstep;
  using namespace lockstep::numeric;
  constexpr DefaultFloatMode kDefault;
  const F32 root = sqrt(*x, kDefault);
  const F32 below = bits_as<F32>(to_bits(root) - 1), above = bits_as<F32>(to_bits(root) + 1);
  const I32 is_below = fma(-below, root, *x, kDefault) <= 0.0f,
            is_above = fma(-above, root, *x, kDefault) > 0.0f;
  *result = is_above ? above : is_below ? below : root;
}

extern "C" void lockstep_exact_square_root_f64(const lockstep::F64* x, lockstep::F64* result) {
  using namespace lockstep;
  using namespace lockstep::numeric;
  constexpr DefaultFloatMode kDefault;
  const F64 estimate = rsq(*x, kDefault);
  F64 root = mul(*x, estimate, kDefault), half = mul(estimate, F64(0.5), kDefault);
  const F64 error = fma(-half, root, F64(0.5), kDefault);
  root = fma(root, error, root, kDefault);
  half = fma(half, error, half, kDefault);
  for (int step = 0; step < 2; ++step) root = fma(fma(-root, root, *x, kDefault), half, root, kDefault);
  *result = root;
}
