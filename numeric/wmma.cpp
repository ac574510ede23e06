#include "numeric/wmma.h"

#include <cstring>

#include "numeric/dot.h"

namespace lockstep::numeric {
namespace {

// A row of a matrix is a chunk: one lane a column.
template <class Chunk, class Element>
Chunk load_row(const Element (&row)[kMatrixSize]) {
  Chunk chunk;
  static_assert(sizeof(chunk) == sizeof(row));
  std::memcpy(&chunk, row, sizeof(row));
  return chunk;
}
template <class Chunk, class Element>
void store_row(Chunk chunk, Element (&row)[kMatrixSize]) {
  std::memcpy(row, &chunk, sizeof(row));
}

// Sources as Operand (F16, or U16 for brain floats), accumulator as Accumulator.
template <class Operand, class Accumulator, class Element, class Dot>
void multiply(const Matrix<uint16_t>& a, const Matrix<uint16_t>& b, const Matrix<Element>& c,
              Matrix<Element>& d, Dot dot) {
  Operand b_rows[kMatrixSize];
  for (unsigned k = 0; k < kMatrixSize; ++k) b_rows[k] = load_row<Operand>(b[k]);
  for (unsigned row = 0; row < kMatrixSize; ++row) {
    auto sum = load_row<Accumulator>(c[row]);
    for (unsigned k = 0; k < kMatrixSize; k += 2) {
      const auto low = bits_as<Operand>(U16(a[row][k]));
      const auto high = bits_as<Operand>(U16(a[row][k + 1]));
      sum = dot(low, high, b_rows[k], b_rows[k + 1], sum);
    }
    store_row(sum, d[row]);
  }
}

int extend(uint8_t x, int width, bool is_signed) {
  const int value = x & ((1 << width) - 1);
  return is_signed && (value >> (width - 1)) != 0 ? value - (1 << width) : value;
}

void multiply_integers(const Matrix<uint8_t>& a, const Matrix<uint8_t>& b, const Matrix<int32_t>& c,
                       int width, bool a_signed, bool b_signed, bool clamp, Matrix<int32_t>& d) {
  I32 b_rows[kMatrixSize];
  for (unsigned k = 0; k < kMatrixSize; ++k) {
    for (unsigned column = 0; column < kMatrixSize; ++column)
      b_rows[k][column] = extend(b[k][column], width, b_signed);
  }
  for (unsigned row = 0; row < kMatrixSize; ++row) {
    I32 products = I32(0);
    for (unsigned k = 0; k < kMatrixSize; ++k)
      products += I32(extend(a[row][k], width, a_signed)) * b_rows[k];
    const auto addend = load_row<I32>(c[row]);
    const I32 sum = clamp ? __builtin_elementwise_add_sat(products, addend)
                          : bits_as<I32>(bits_as<U32>(products) + bits_as<U32>(addend));
    store_row(sum, d[row]);
  }
}

}  // namespace

void wmma_f32_f16(const Matrix<uint16_t>& a, const Matrix<uint16_t>& b, const Matrix<float>& c, uint32_t mode,
                  Matrix<float>& d) {
  const RuntimeFloatMode m{mode};
  multiply<F16, F32>(
      a, b, c, d, [m](F16 a0, F16 a1, F16 b0, F16 b1, F32 s) { return dot2_f32_f16(a0, a1, b0, b1, s, m); });
}

void wmma_f32_bf16(const Matrix<uint16_t>& a, const Matrix<uint16_t>& b, const Matrix<float>& c,
                   uint32_t mode, Matrix<float>& d) {
  const RuntimeFloatMode m{mode};
  multiply<U16, F32>(
      a, b, c, d, [m](U16 a0, U16 a1, U16 b0, U16 b1, F32 s) { return dot2_f32_bf16(a0, a1, b0, b1, s, m); });
}

void wmma_f16_f16(const Matrix<uint16_t>& a, const Matrix<uint16_t>& b, const Matrix<uint16_t>& c,
                  uint32_t mode, Matrix<uint16_t>& d) {
  const RuntimeFloatMode m{mode};
  multiply<F16, F16>(
      a, b, c, d, [m](F16 a0, F16 a1, F16 b0, F16 b1, F16 s) { return dot2_f16_f16(a0, a1, b0, b1, s, m); });
}

void wmma_bf16_bf16(const Matrix<uint16_t>& a, const Matrix<uint16_t>& b, const Matrix<uint16_t>& c,
                    uint32_t mode, Matrix<uint16_t>& d) {
  const RuntimeFloatMode m{mode};
  multiply<U16, U16>(a, b, c, d, [m](U16 a0, U16 a1, U16 b0, U16 b1, U16 s) {
    return dot2_bf16_bf16(a0, a1, b0, b1, s, m);
  });
}

void wmma_i32_iu8(const Matrix<uint8_t>& a, const Matrix<uint8_t>& b, const Matrix<int32_t>& c, bool a_signed,
                  bool b_signed, bool clamp, Matrix<int32_t>& d) {
  multiply_integers(a, b, c, 8, a_signed, b_signed, clamp, d);
}

void wmma_i32_iu4(const Matrix<uint8_t>& a, const Matrix<uint8_t>& b, const Matrix<int32_t>& c, bool a_signed,
                  bool b_signed, bool clamp, Matrix<int32_t>& d) {
  multiply_integers(a, b, c, 4, a_signed, b_signed, clamp, d);
}

}  // namespace lockstep::numeric
