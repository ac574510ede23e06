// Numbers of 64 bits that are in two registers.
#pragma once

#include <llvm/IR/Function.h>

namespace lockstep::translator {

// Each instruction takes such numbers apart and the next one joins them again. Where both are in the function
// the number itself remains.
// `has_scalars`: of numbers, too, that are no vectors.
void fold_pairs(llvm::Function& function, bool has_scalars);

// Where code that is hardly ever executed joins a number, the number itself does not remain: all others would
// have to take it apart for their halves.
void keep_joined(llvm::Value* join);

}  // namespace lockstep::translator
