// Sums of shifts of one number.
#pragma once

#include <llvm/IR/Function.h>

namespace lockstep::translator {

// Random number generators and checksums are linear over single bits: x << 3 ^ x << 7 ^ x << 12 and so on,
// many scalar instructions long. Such a sum is a product without carries, which hosts have as one instruction
// (PCLMULQDQ, which this asks for).
void multiply_shift_sums(llvm::Function& function);

}  // namespace lockstep::translator
