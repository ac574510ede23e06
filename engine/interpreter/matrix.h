// A matrix instruction with its operands found: for the interpreter's handlers, and for translated code,
// which calls the same functions.
#pragma once

#include <cstdint>

#include "numeric/lanes.h"

namespace lockstep::interpreter {

// Each pointer is to the chunks of a group of VGPRs, register by register (semantics/wmma.h).
struct MatrixProduct {
  U32* result = nullptr;
  const U32 *a = nullptr, *b = nullptr;
  const U32* c = nullptr;  // null: a constant
  uint32_t constant = 0;   // as the operand has it, for all elements
  bool is_float_constant = false;
  uint8_t neg = 0, neg_hi = 0;  // by source
  bool high = false;            // OPSEL[2]
  bool clamp = false;
};

}  // namespace lockstep::interpreter
