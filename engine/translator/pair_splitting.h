// Numbers of 64 bits that live for one operation only.
#pragma once

#include <llvm/IR/Function.h>

namespace lockstep::translator {

// An operation on numbers that are joined from two registers and taken apart again is made of 32-bit
// operations on the registers. Hosts spend more instructions on joining and taking apart sixteen numbers than
// on most operations. Runs after fold_pairs(), which leaves joins only where the halves are registers of
// their own. So is a comparison of numbers of which one at least is joined for comparisons alone.
void split_pairs(llvm::Function& function, bool has_mask_registers);

}  // namespace lockstep::translator
