// Small things that several handler files and the predecoder share.
#pragma once

#include "engine/interpreter/handlers.h"

namespace lockstep::interpreter {

// To where a source that is a literal is read. What handlers without operands of their own for that left
// there was another instruction's.
inline void copy_literal(const Operation* op, Wave* wave) {
  __builtin_memcpy(&wave->scalar[kScalarLiteral], &op->literal, 8);
}

// Bits of Operation::source_flags in memory operations.
enum MemorySource : uint32_t {
  kHasAddress = 1,      // source 0 is a VGPR address
  kHasScalarBase = 2,   // source 2 is an SGPR base
  kRangeSlotShift = 8,  // from here on the instruction's place among Wave::read_ranges and write_ranges
};

inline constexpr char kPastTheEnd[] = "execution ran past the end of the code; is an s_endpgm missing?";

}  // namespace lockstep::interpreter
