// The mathematical functions of OpenCL C in single and double precision, one dispatch a function.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define UNARY(X)                                                                                            \
  X(0, sin(x)) X(1, cos(x)) X(2, tan(x)) X(3, asin(x)) X(4, acos(x)) X(5, atan(x)) X(6, sinh(x)) X(7, cosh(x)) \
  X(8, tanh(x)) X(9, asinh(x)) X(10, acosh(x)) X(11, atanh(x)) X(12, exp(x)) X(13, exp2(x)) X(14, exp10(x))    \
  X(15, expm1(x)) X(16, log(x)) X(17, log2(x)) X(18, log10(x)) X(19, log1p(x)) X(20, sqrt(x)) X(21, rsqrt(x))  \
  X(22, cbrt(x)) X(23, erf(x)) X(24, erfc(x)) X(25, tgamma(x)) X(26, sinpi(x)) X(27, floor(x)) X(28, rint(x))  \
  X(29, round(x)) X(30, trunc(x)) X(31, 1 / x)
#define BINARY(X) \
  X(32, pow(x, y)) X(33, atan2(x, y)) X(34, hypot(x, y)) X(35, fmod(x, y)) X(36, x / y) X(37, fmin(x, y)) X(38, fdim(x, y))

#define CASE(number, expression) \
  case number:                   \
    out[i] = expression;         \
    break;

__kernel void math_f32(__global const float* restrict first, __global const float* restrict second,
                       __global float* restrict out, uint function) {
  const uint i = get_global_id(0);
  const float x = first[i], y = second[i];
  switch (function) { UNARY(CASE) BINARY(CASE) }
}

__kernel void math_f64(__global const double* restrict first, __global const double* restrict second,
                       __global double* restrict out, uint function) {
  const uint i = get_global_id(0);
  const double x = first[i], y = second[i];
  switch (function) { UNARY(CASE) BINARY(CASE) }
}
