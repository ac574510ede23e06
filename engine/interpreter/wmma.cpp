// WMMA: matrix instructions over the whole wave (guide 7.9).
#include "semantics/wmma.h"

#include <algorithm>

#include "engine/interpreter/memory_access.h"
#include "engine/interpreter/registration.h"
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

  // A 16-bit constant fills both halves; a brain float is the upper half of the f32 one (guide 7.5.1, 7.9).
  static uint32_t constant_of(const Operation* op, Wave* wave) {
    const uint32_t value = scalar_at(wave, op->source[2]);
    switch (op->instruction->row->opcode) {
      case Opcode::v_wmma_f16_16x16x16_f16:
        return (value & 0xffffu) | value << 16;
      case Opcode::v_wmma_bf16_16x16x16_bf16:
        return source_flags(op, 2) & kHigh ? (value & 0xffff'0000u) | value >> 16
                                           : (value & 0xffffu) | value << 16;
      default:
        return value;
    }
  }

  Addend(const Operation* op, Wave* wave) {
    if (!(source_flags(op, 2) & kScalarSource)) {
      rows = vgpr_chunk(wave, op->source[2], 0);
      return;
    }
    std::fill(std::begin(constant), std::end(constant), U32(constant_of(op, wave)));
    rows = constant;
  }
};

// Whether D may be written row by row while the operands are read: a body reads row r of C before it writes
// row r of D, and of A and B before the last row.
bool is_disjoint(const U32* destination, const U32* source, unsigned chunks) {
  return destination + kRows <= source || source + chunks <= destination;
}

template <class Body>
void float_wmma(const Operation* op, Wave* wave, int64_t budget) {
  const Addend addend(op, wave);
  WmmaModifiers modifiers;
  for (unsigned i = 0; i < 3; ++i) {
    if (source_flags(op, i) & kNeg) modifiers.neg |= static_cast<uint8_t>(1u << i);
    if (source_flags(op, i) & kNegHigh) modifiers.neg_hi |= static_cast<uint8_t>(1u << i);
  }
  modifiers.high = op->instruction->op_sel >> 2 & 1;
  const WaveView view{wave->chunks, wave->exec()};
  const U32 *a = vgpr_chunk(wave, op->source[0], 0), *b = vgpr_chunk(wave, op->source[1], 0);
  U32* destination = vgpr_chunk(wave, op->dst, 0);
  U32 copy[kRows];
  const unsigned operand_chunks = kRows / 2 * wave->chunks;
  const bool in_place = is_disjoint(destination, a, operand_chunks) &&
                        is_disjoint(destination, b, operand_chunks) &&
                        (addend.rows == destination || is_disjoint(destination, addend.rows, kRows));
  U32* const result = in_place ? destination : copy;
  if (!in_place) std::copy_n(destination, kRows, copy);
  if ((wave->mode & kFloatModeMask) == kDefaultFloatMode)
    Body::eval(view, a, b, addend.rows, result, modifiers, DefaultFloatMode{});
  else
    Body::eval(view, a, b, addend.rows, result, modifiers, RuntimeFloatMode{wave->mode});
  if (!in_place) std::copy_n(copy, kRows, destination);
  LOCKSTEP_NEXT();
}

template <class Body>
void integer_wmma(const Operation* op, Wave* wave, int64_t budget) {
  const Addend addend(op, wave);
  const SignBits is_signed{(source_flags(op, 0) & kNeg) != 0, (source_flags(op, 1) & kNeg) != 0};
  const WaveView view{wave->chunks, wave->exec()};
  const U32 *a = vgpr_chunk(wave, op->source[0], 0), *b = vgpr_chunk(wave, op->source[1], 0);
  U32 result[kRows];
  if (op->instruction->clamp)
    Body::saturated(view, a, b, addend.rows, result, is_signed);
  else
    Body::eval(view, a, b, addend.rows, result, is_signed);
  std::copy_n(result, kRows, vgpr_chunk(wave, op->dst, 0));
  LOCKSTEP_NEXT();
}

}  // namespace

void LOCKSTEP_REGISTER(wmma)(HandlerTable& table) {
  auto set = [&](Opcode opcode, Handler handler) { table.other[static_cast<size_t>(opcode)] = handler; };
  set(Opcode::v_wmma_f32_16x16x16_f16, &float_wmma<semantics::v_wmma_f32_16x16x16_f16>);
  set(Opcode::v_wmma_f32_16x16x16_bf16, &float_wmma<semantics::v_wmma_f32_16x16x16_bf16>);
  set(Opcode::v_wmma_f16_16x16x16_f16, &float_wmma<semantics::v_wmma_f16_16x16x16_f16>);
  set(Opcode::v_wmma_bf16_16x16x16_bf16, &float_wmma<semantics::v_wmma_bf16_16x16x16_bf16>);
  set(Opcode::v_wmma_i32_16x16x16_iu8, &integer_wmma<semantics::v_wmma_i32_16x16x16_iu8>);
  set(Opcode::v_wmma_i32_16x16x16_iu4, &integer_wmma<semantics::v_wmma_i32_16x16x16_iu4>);
}

}  // namespace lockstep::interpreter
