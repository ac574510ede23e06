// WMMA: matrix instructions over the whole wave (guide 7.9).
#include "semantics/wmma.h"

#include <algorithm>
#include <type_traits>

#include "engine/interpreter/common.h"
#include "engine/interpreter/matrix.h"
#include "engine/interpreter/memory_access.h"
#include "engine/interpreter/registration.h"
#include "engine/scalar_operand.h"
#include "numeric/float_mode.h"

namespace lockstep::interpreter {
namespace {

using isa::Opcode;
using semantics::SignBits;
using semantics::WaveView;
using semantics::WmmaModifiers;

constexpr unsigned kRows = semantics::wmma::kSize;

// C as 16 chunks: registers, or an inline constant in every lane.
struct Addend {
  const U32* rows;
  U32 constant[kRows];

  Addend(const MatrixProduct& product, uint32_t value) : rows(product.c) {
    if (rows) return;
    std::fill(std::begin(constant), std::end(constant), U32(value));
    rows = constant;
  }
};

// A 16-bit constant fills both halves; a brain float is the upper half of the f32 one (guide 7.5.1, 7.9).
template <class Body>
uint32_t constant_of(const MatrixProduct& product) {
  const uint32_t value = product.constant, low = value & 0xffffu, high = value & 0xffff'0000u;
  if constexpr (std::is_same_v<Body, semantics::v_wmma_f16_16x16x16_f16>) return low | low << 16;
  if constexpr (std::is_same_v<Body, semantics::v_wmma_bf16_16x16x16_bf16>)
    return product.is_float_constant ? high | high >> 16 : low | low << 16;
  return value;
}

// Whether D may be written row by row while the operands are read: a body reads row r of C before it writes
// row r of D, and of A and B before the last row.
bool is_disjoint(const U32* destination, const U32* source, unsigned chunks) {
  return destination + kRows <= source || source + chunks <= destination;
}

template <class Body>
void multiply_floats(Wave& wave, const MatrixProduct& product) {
  const Addend addend(product, constant_of<Body>(product));
  const WmmaModifiers modifiers{.neg = product.neg, .neg_hi = product.neg_hi, .high = product.high};
  const WaveView view{wave.chunks, wave.exec()};
  const U32 *a = product.a, *b = product.b;
  U32* const destination = product.result;
  U32 copy[kRows];
  const unsigned operand_chunks = kRows / 2 * wave.chunks;
  const bool in_place = is_disjoint(destination, a, operand_chunks) &&
                        is_disjoint(destination, b, operand_chunks) &&
                        (addend.rows == destination || is_disjoint(destination, addend.rows, kRows));
  U32* const result = in_place ? destination : copy;
  if (!in_place) std::copy_n(destination, kRows, copy);
  if ((wave.mode & kFloatModeMask) == kDefaultFloatMode)
    Body::eval(view, a, b, addend.rows, result, modifiers, DefaultFloatMode{});
  else
    Body::eval(view, a, b, addend.rows, result, modifiers, RuntimeFloatMode{wave.mode});
  if (!in_place) std::copy_n(copy, kRows, destination);
}

template <class Body>
void multiply_integers(Wave& wave, const MatrixProduct& product) {
  const Addend addend(product, product.constant);
  const SignBits is_signed{(product.neg & 1) != 0, (product.neg & 2) != 0};
  const WaveView view{wave.chunks, wave.exec()};
  U32 result[kRows];
  if (product.clamp)
    Body::saturated(view, product.a, product.b, addend.rows, result, is_signed);
  else
    Body::eval(view, product.a, product.b, addend.rows, result, is_signed);
  std::copy_n(result, kRows, product.result);
}

template <MatrixFunction multiply>
void matrix(const Operation* op, Wave* wave, int64_t budget) {
  MatrixProduct product{.result = vgpr_chunk(wave, op->dst, 0),
                        .a = vgpr_chunk(wave, op->source[0], 0),
                        .b = vgpr_chunk(wave, op->source[1], 0),
                        .c = nullptr,
                        .high = (op->instruction->op_sel >> 2 & 1) != 0,
                        .clamp = op->instruction->clamp};
  for (unsigned i = 0; i < 3; ++i) {
    if (source_flags(op, i) & kNeg) product.neg |= static_cast<uint8_t>(1u << i);
    if (source_flags(op, i) & kNegHigh) product.neg_hi |= static_cast<uint8_t>(1u << i);
  }
  if (source_flags(op, 2) & kScalarSource) {
    copy_literal(op, wave);
    product.constant = scalar_at(wave, op->source[2]);
    product.is_float_constant = is_float_constant(op->instruction->find(isa::Role::src2)->code);
  } else {
    product.c = vgpr_chunk(wave, op->source[2], 0);
  }
  multiply(*wave, product);
  LOCKSTEP_NEXT();
}

template <MatrixFunction multiply>
void set(HandlerTable& table, Opcode opcode) {
  table.matrix[static_cast<size_t>(opcode)] = multiply;
  table.other[static_cast<size_t>(opcode)] = &matrix<multiply>;
}

}  // namespace

void LOCKSTEP_REGISTER(wmma)(HandlerTable& table) {
  set<&multiply_floats<semantics::v_wmma_f32_16x16x16_f16>>(table, Opcode::v_wmma_f32_16x16x16_f16);
  set<&multiply_floats<semantics::v_wmma_f32_16x16x16_bf16>>(table, Opcode::v_wmma_f32_16x16x16_bf16);
  set<&multiply_floats<semantics::v_wmma_f16_16x16x16_f16>>(table, Opcode::v_wmma_f16_16x16x16_f16);
  set<&multiply_floats<semantics::v_wmma_bf16_16x16x16_bf16>>(table, Opcode::v_wmma_bf16_16x16x16_bf16);
  set<&multiply_integers<semantics::v_wmma_i32_16x16x16_iu8>>(table, Opcode::v_wmma_i32_16x16x16_iu8);
  set<&multiply_integers<semantics::v_wmma_i32_16x16x16_iu4>>(table, Opcode::v_wmma_i32_16x16x16_iu4);
}

}  // namespace lockstep::interpreter
