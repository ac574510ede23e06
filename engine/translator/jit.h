// Host code in this process's memory, through LLVM ORC.
#pragma once

#include <memory>

#include "engine/translator/code_generator.h"
#include "engine/translator/context.h"

namespace lockstep::translator {

// Code that stays in memory as long as this lives.
class LoadedCode {
 public:
  // Links the object against the runtime functions and the exact float functions of numeric/. Adds to its
  // stages.
  explicit LoadedCode(Object& object, const char* symbol = kFunctionName);
  ~LoadedCode();
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;

  void* address() const { return address_; }
  void* address(const char* symbol) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  void* address_ = nullptr;
};

}  // namespace lockstep::translator
