#include "numeric/host_float.h"

#include "numeric/round.h"

namespace lockstep::numeric::host {

void add(const F32* a, const F32* b, F32* result) {
  *result = *a + *b;
}
void add(const F64* a, const F64* b, F64* result) {
  *result = *a + *b;
}
void sub(const F32* a, const F32* b, F32* result) {
  *result = *a - *b;
}
void sub(const F64* a, const F64* b, F64* result) {
  *result = *a - *b;
}
void mul(const F32* a, const F32* b, F32* result) {
  *result = *a * *b;
}
void mul(const F64* a, const F64* b, F64* result) {
  *result = *a * *b;
}
void fma(const F32* a, const F32* b, const F32* c, F32* result) {
  *result = __builtin_elementwise_fma(*a, *b, *c);
}
void fma(const F64* a, const F64* b, const F64* c, F64* result) {
  *result = __builtin_elementwise_fma(*a, *b, *c);
}
void scale(const F32* a, const I32* exponent, F32* result) {
  *result = detail::host_ldexp(*a, *exponent);
}
void scale(const F64* a, const I32* exponent, F64* result) {
  *result = detail::host_ldexp(*a, *exponent);
}
void narrow(const F32* a, F16* result) {
  *result = lockstep::convert<F16>(*a);
}
void convert(const F64* a, F32* result) {
  *result = lockstep::convert<F32>(*a);
}
void convert(const I32* a, F32* result) {
  *result = lockstep::convert<F32>(*a);
}

void convert(const U32* a, F32* result) {
  // Exact in F64 from two signed parts: AVX2 has no unsigned conversion, and its emulation assumes nearest
  // rounding.
  const F64 upper = lockstep::convert<F64>(bits_as<I32>(*a >> 1)) * 2.0;
  const F64 exact = upper + lockstep::convert<F64>(bits_as<I32>(*a & 1));
  *result = lockstep::convert<F32>(exact);
}

}  // namespace lockstep::numeric::host
