// Sums of numbers with the lanes of a mask: carries, borrows, counts.
#pragma once

#include <llvm/IR/Function.h>

namespace lockstep::translator {

// Of hosts that have registers for masks. x + zext(mask) and its like choose x + 1 in the mask's lanes and x
// in others, which is one instruction there. The sum must not come to LLVM 19's DAG combiner: where that
// finds out that a mask has no lanes it makes an addition of the subtraction, and X86's part of it makes the
// subtraction again, without an end.
void choose_mask_sums(llvm::Function& function);

}  // namespace lockstep::translator
