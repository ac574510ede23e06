// The bodies of semantics/ as LLVM bitcode (bodies.cpp, embedded in the library).
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>

namespace lockstep::translator {

// The bodies are copied into the modules that call them, which have to be in the same LLVM context, and a
// context is for one thread at a time: so each session has one with bodies of its own, which it leaves, with
// those that were read by then, to sessions that follow.
// Behind the name of a body: the same for arguments that all lanes have.
inline constexpr const char* kOfOneLane = ".one_lane";

class BodySession {
 public:
  BodySession();
  ~BodySession();
  BodySession(const BodySession&) = delete;
  BodySession& operator=(const BodySession&) = delete;
  llvm::LLVMContext& context();
  // Defines the functions that `module` declares and the bodies have, ready to be inlined: internal,
  // always-inline, with no host processor of their own. `has_masks`: the code is for a host that looks
  // numbers up in registers (AVX-512). Throws std::runtime_error if the embedded bitcode is damaged.
  void import(llvm::Module& module, bool has_masks);

 private:
  struct Library;
  struct Idle;
  std::unique_ptr<Library> library_;
};

}  // namespace lockstep::translator
