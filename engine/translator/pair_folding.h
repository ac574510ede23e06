// Numbers of 64 bits that are in two registers.
#pragma once

#include <llvm/IR/Function.h>

namespace lockstep::translator {

// Each instruction takes such numbers apart and the next one joins them again. Where both are in the function
// the number itself remains.
void fold_pairs(llvm::Function& function);

}  // namespace lockstep::translator
