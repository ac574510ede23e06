// Bytes and halves that were joined to a word, and are taken out of it again.
#pragma once

#include <llvm/IR/Function.h>

namespace lockstep::translator {

// Compilers load neighbouring bytes of a picture as one number, which is put together of moves of the host's
// (emit_regular_access.cpp), and take each out of it. LLVM's InstCombine would see that, and is not run.
void split_joined_bytes(llvm::Function& function);

}  // namespace lockstep::translator
