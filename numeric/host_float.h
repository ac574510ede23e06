// Plain host operations as opaque calls: the compiler cannot move them across a change of MXCSR, and knows
// none of their operands, so it cannot fold them under the default rounding either.
#pragma once

#include "numeric/lanes.h"

namespace lockstep::numeric::host {

void add(const F32* a, const F32* b, F32* result);
void add(const F64* a, const F64* b, F64* result);
void sub(const F32* a, const F32* b, F32* result);
void sub(const F64* a, const F64* b, F64* result);
void mul(const F32* a, const F32* b, F32* result);
void mul(const F64* a, const F64* b, F64* result);
void fma(const F32* a, const F32* b, const F32* c, F32* result);
void fma(const F64* a, const F64* b, const F64* c, F64* result);
// a * 2^exponent, rounded once.
void scale(const F32* a, const I32* exponent, F32* result);
void scale(const F64* a, const I32* exponent, F64* result);
void narrow(const F32* a, F16* result);
void convert(const F64* a, F32* result);
void convert(const I32* a, F32* result);
void convert(const U32* a, F32* result);

}  // namespace lockstep::numeric::host
