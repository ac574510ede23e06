// The exceptions that a vector ALU instruction raises: bits 0 to 6 of TRAPSTS.EXCP, in which order
// MODE.EXCP_EN has them too (guide 3.4.9). For the engine that runs waves whose program looks at TRAPSTS or
// traps on an exception: one lane at a time, exact, not fast.
#pragma once

#include <array>
#include <cstdint>

#include "isa/instruction.h"

namespace lockstep::semantics {

enum Exception : uint32_t {
  kInvalid = 1u << 0,
  kInputDenormal = 1u << 1,
  kDivideByZero = 1u << 2,
  kOverflow = 1u << 3,
  kUnderflow = 1u << 4,
  kInexact = 1u << 5,
  kIntegerDivideByZero = 1u << 6,
};

// What one lane reads. A source is all that the operand's register or constant holds: a word, or a pair of
// words for 64-bit operands. Halves are chosen and ABS and NEG applied here, by the decoded operand; DPP has
// happened already. Constant K of v_fmaak and v_fmamk is in the instruction.
struct LaneSources {
  std::array<uint64_t, 3> source = {};  // src0, src1, src2
  uint64_t old_destination = 0;         // read by v_fmac and its like
  bool vcc = false;                     // the lane's bit, read by v_div_fmas
};

// Whether the instruction can raise one at all, with any operands and in any mode. Rows of VOPD are asked for
// one at a time.
bool raises_exceptions(const isa::Row& row);

// What a lane of the instruction raises. `y_half`: the Y half of a VOPD pair; the exceptions of a pair are
// the union of its halves' (guide 7.6). `mode` is the MODE register: with DX10_CLAMP set nothing is raised
// (guide 3.4.2).
uint32_t exceptions_of(const isa::Instruction& instruction, bool y_half, const LaneSources& lane,
                       uint32_t mode);

}  // namespace lockstep::semantics
