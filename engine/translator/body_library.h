// The bodies of semantics/ as LLVM bitcode (bodies.cpp, embedded in the library).
#pragma once

#include <llvm/IR/Module.h>

namespace lockstep::translator {

// Defines the functions that `module` declares and the bodies have, ready to be inlined: internal,
// always-inline, with no host processor of their own.
void import_bodies(llvm::Module& module);

}  // namespace lockstep::translator
