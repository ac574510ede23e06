// Complex numbers where no ROCm is installed.
#pragma once
#include "hip/hip_runtime.h"

#define LOCKSTEP_COMPLEX static __host__ __device__ inline __attribute__((always_inline, unused))
typedef float2 hipFloatComplex;
typedef double2 hipDoubleComplex;
typedef hipFloatComplex hipComplex;

#define LOCKSTEP_COMPLEX_TYPE(Complex, Real, suffix, f)                                 \
  LOCKSTEP_COMPLEX Complex make_##Complex(Real real, Real imaginary) {                  \
    return Complex(real, imaginary);                                                    \
  }                                                                                     \
  LOCKSTEP_COMPLEX Real hipCreal##f(Complex z) {                                        \
    return z.x;                                                                         \
  }                                                                                     \
  LOCKSTEP_COMPLEX Real hipCimag##f(Complex z) {                                        \
    return z.y;                                                                         \
  }                                                                                     \
  LOCKSTEP_COMPLEX Complex hipConj##f(Complex z) {                                      \
    return Complex(z.x, -z.y);                                                          \
  }                                                                                     \
  LOCKSTEP_COMPLEX Complex hipCadd##f(Complex a, Complex b) {                           \
    return Complex(a.x + b.x, a.y + b.y);                                               \
  }                                                                                     \
  LOCKSTEP_COMPLEX Complex hipCsub##f(Complex a, Complex b) {                           \
    return Complex(a.x - b.x, a.y - b.y);                                               \
  }                                                                                     \
  LOCKSTEP_COMPLEX Complex hipCmul##f(Complex a, Complex b) {                           \
    return Complex(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);                       \
  }                                                                                     \
  LOCKSTEP_COMPLEX Complex hipCdiv##f(Complex a, Complex b) {                           \
    const Real square = b.x * b.x + b.y * b.y;                                          \
    return Complex((a.x * b.x + a.y * b.y) / square, (a.y * b.x - a.x * b.y) / square); \
  }                                                                                     \
  LOCKSTEP_COMPLEX Complex hipCfma##f(Complex a, Complex b, Complex c) {                \
    return hipCadd##f(hipCmul##f(a, b), c);                                             \
  }                                                                                     \
  static __host__ __device__ inline Real hipCabs##f(Complex z) {                        \
    return hypot##suffix(z.x, z.y);                                                     \
  }
LOCKSTEP_COMPLEX_TYPE(hipFloatComplex, float, f, f)
LOCKSTEP_COMPLEX_TYPE(hipDoubleComplex, double, , )
#undef LOCKSTEP_COMPLEX_TYPE
LOCKSTEP_COMPLEX hipComplex make_hipComplex(float real, float imaginary) {
  return hipComplex(real, imaginary);
}
LOCKSTEP_COMPLEX hipFloatComplex hipComplexDoubleToFloat(hipDoubleComplex z) {
  return hipFloatComplex((float)z.x, (float)z.y);
}
LOCKSTEP_COMPLEX hipDoubleComplex hipComplexFloatToDouble(hipFloatComplex z) {
  return hipDoubleComplex(z.x, z.y);
}
#undef LOCKSTEP_COMPLEX
