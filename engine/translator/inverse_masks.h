// `if (...) break;` in a loop becomes a comparison for the lanes that leave and one for those that go on.
#pragma once

#include <llvm/IR/Function.h>

namespace lockstep::translator {

// Makes the mask of a comparison whose opposite the same block has made of the same numbers and under the
// same EXEC of that mask: EXEC without it. To be called when bodies are inlined and memory is promoted to
// values.
void derive_inverse_masks(llvm::Function& function);

}  // namespace lockstep::translator
