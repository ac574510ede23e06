// Compilers make small arrays of registers: a load of an element is a chain of selects, a store one for each
// element. Of one lane that is more work than the access would be.
#pragma once

#include <llvm/IR/Function.h>

namespace lockstep::translator {

// Arrays of scalars that a loop keeps in values are put into memory. Whether there were any.
bool index_registers(llvm::Function& function);

}  // namespace lockstep::translator
