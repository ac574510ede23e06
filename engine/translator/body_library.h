// The bodies of semantics/ as LLVM bitcode (bodies.cpp, embedded in the library).
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <mutex>

namespace lockstep::translator {

// The bodies are read once, each when it is first used, and copied into the modules that call them. An LLVM
// context is for one thread at a time, and the modules have to be in that of the bodies: so only one session
// is open at a time.
class BodySession {
 public:
  BodySession();
  llvm::LLVMContext& context();
  // Defines the functions that `module` declares and the bodies have, ready to be inlined: internal,
  // always-inline, with no host processor of their own. Throws std::runtime_error if the embedded bitcode is
  // damaged.
  void import(llvm::Module& module);

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace lockstep::translator
