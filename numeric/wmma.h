// The six matrix multiplications of 16x16x16, D = A * B + C, as whole matrices in row-major order: a[row][k],
// b[k][column], c[row][column]. How lanes and registers hold the matrices is the business of the
// instruction's body.
//
// Accumulation (assumed, nothing is measured for gfx11): D starts as C; for k = 0, 2, .. 14 one two-element
// dot product of dot.h is added, rounded to the format of D each time. Integers are summed exactly; CLAMP
// saturates the exact sum.
#pragma once

#include <cstdint>

#include "numeric/lanes.h"

namespace lockstep::numeric {

inline constexpr unsigned kMatrixSize = 16;
template <class Element>
using Matrix = Element[kMatrixSize][kMatrixSize];

// Halves and brain floats are passed as their bits; `mode` holds the bits of the MODE register.
void wmma_f32_f16(const Matrix<uint16_t>& a, const Matrix<uint16_t>& b, const Matrix<float>& c, uint32_t mode,
                  Matrix<float>& d);
void wmma_f32_bf16(const Matrix<uint16_t>& a, const Matrix<uint16_t>& b, const Matrix<float>& c,
                   uint32_t mode, Matrix<float>& d);
void wmma_f16_f16(const Matrix<uint16_t>& a, const Matrix<uint16_t>& b, const Matrix<uint16_t>& c,
                  uint32_t mode, Matrix<uint16_t>& d);
void wmma_bf16_bf16(const Matrix<uint16_t>& a, const Matrix<uint16_t>& b, const Matrix<uint16_t>& c,
                    uint32_t mode, Matrix<uint16_t>& d);
// Elements as they stand in the registers: 8 bits, or 4 bits in the low half of a byte.
void wmma_i32_iu8(const Matrix<uint8_t>& a, const Matrix<uint8_t>& b, const Matrix<int32_t>& c, bool a_signed,
                  bool b_signed, bool clamp, Matrix<int32_t>& d);
void wmma_i32_iu4(const Matrix<uint8_t>& a, const Matrix<uint8_t>& b, const Matrix<int32_t>& c, bool a_signed,
                  bool b_signed, bool clamp, Matrix<int32_t>& d);

}  // namespace lockstep::numeric
