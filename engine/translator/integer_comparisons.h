// Comparisons of integers that make a mask of lanes.
#pragma once

#include <llvm/IR/InstrTypes.h>

#include <optional>

#include "isa/row.h"

namespace lockstep::translator {

struct IntegerComparison {
  isa::Opcode opcode;
  llvm::CmpInst::Predicate predicate;
  unsigned words;  // of each operand
};
// Null if the instruction is none, or writes EXEC.
const IntegerComparison* integer_comparison(isa::Opcode opcode);

// How the instruction orders two numbers of 32 bits, if it does; it may write EXEC.
std::optional<llvm::CmpInst::Predicate> order_of_words(isa::Opcode opcode);

}  // namespace lockstep::translator
