// Where lanes go through a loop one by one, each load is tested: how far it is behind the begin of what may
// be loaded from.
#pragma once

#include <llvm/IR/Function.h>

namespace lockstep::translator {

// What is the same in all rounds of a loop is added up before it: of an address that has a part of its own in
// each round, its begin and that of the range.
void count_from_begins(llvm::Function& function);

}  // namespace lockstep::translator
