// Masks that are put together as scalars, and taken apart for 16 lanes again, go on in the host's registers
// for masks.
#pragma once

#include <llvm/IR/Function.h>

namespace lockstep::translator {

// Of hosts that have such registers. Combines the 16 lanes of a mask where the scalar that holds all lanes is
// an AND, OR or XOR of what comparisons have given: the way of a comparison's lanes through scalar registers
// and back is long, and in loops all that follows waits for it. The scalar stays for others who ask for it.
// To be called when bodies are inlined and memory is promoted to values.
void combine_masks_by_halves(llvm::Function& function);

}  // namespace lockstep::translator
