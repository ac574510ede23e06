// Which rule tells the exceptions of an instruction. Part of exceptions.h.
#pragma once

#include <cstdint>

#include "isa/row.h"
#include "numeric/float_mode.h"
#include "semantics/exceptions_exact.h"

namespace lockstep::semantics::exceptions {

enum class Kind : uint8_t {
  none,
  // What is picked or taken apart, not computed: signalling NaNs and denormals among the operands are all.
  operands,
  compare,
  add,
  subtract,
  subtract_reversed,
  multiply,
  multiply_dx9,
  multiply_add,
  multiply_add_dx9,
  light,  // v_mullit_f32
  fraction,
  scale,
  mix,
  division_multiply_add,
  division_fixup,
  convert,
  convert_toward_zero,
  to_integer,
  from_integer,
  dot,
  reciprocal,
  reciprocal_for_integers,
  square_root,
  reciprocal_square_root,
  exponential,
  logarithm,
  sine,
  cosine,
};

struct Rule {
  Kind kind = Kind::none;
  Format from = kSingle, to = kSingle;  // of operands and result
  bool packed = false;                  // VOP3P: both halves
  // Integers that a conversion reads or writes.
  uint8_t integer_bits = 0;
  bool integer_signed = false;
};

// By the instruction's base (Row::base).
Rule rule_of(isa::Opcode opcode);

// Of the functions of one operand.
uint32_t exceptions_of_function(Kind kind, const Format& format, uint64_t x, RuntimeFloatMode mode);

// The elements of src0 and src1, and the addend in the format of the result.
struct DotOperands {
  uint64_t a_low, a_high, b_low, b_high, c;
};
uint32_t exceptions_of_dot(const Format& elements, const Format& result, const DotOperands& operands,
                           RuntimeFloatMode mode);

// Signalling NaN: invalid. Subnormal: input denormal, also if MODE flushes it (open: the guide's table speaks
// of the operand alone).
uint32_t exceptions_of_operand(const Format& format, uint64_t x);

}  // namespace lockstep::semantics::exceptions
