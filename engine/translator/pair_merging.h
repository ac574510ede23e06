// Numbers of 64 bits that are in two registers, where ways meet: at the begin of a loop's round, behind a
// branch.
#pragma once

#include <llvm/IR/Function.h>

namespace lockstep::translator {

// Where both registers come from numbers that are whole on all ways there, and are joined again behind it,
// the number itself goes that way. To be called before fold_pairs() (pair_folding.h). `has_scalars`: of
// numbers, too, that are no vectors.
void merge_pairs(llvm::Function& function, bool has_scalars);

}  // namespace lockstep::translator
