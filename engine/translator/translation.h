// A routine as host code, shared by all dispatches of the process that run the same code.
#pragma once

#include <memory>
#include <unordered_map>

#include "engine/translator/code_generator.h"
#include "engine/translator/context.h"
#include "engine/translator/jit.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

class Translation {
 public:
  explicit Translation(const Routine& routine);

  // The number to enter at an offset from the routine's entry with, or -1.
  int entry_at(int64_t offset) const {
    const auto found = entries_.find(offset);
    return found == entries_.end() ? -1 : found->second;
  }
  TranslatedFunction function() const { return function_; }
  unsigned memory_slots() const { return object_.memory_slots; }
  size_t instructions() const { return instructions_; }
  size_t code_bytes() const { return object_.code_bytes; }
  const Stages& stages() const { return object_.stages; }

 private:
  Object object_;
  size_t instructions_;
  std::unordered_map<int64_t, int> entries_;
  LoadedCode code_;
  TranslatedFunction function_;
};

// So many are kept; a dispatch keeps its own for as long as it runs.
inline constexpr size_t kMostTranslations = 128;
// From the process's cache, or made now (one thread at a time). `reused` says which.
std::shared_ptr<const Translation> translation_of(const Routine& routine, bool& reused);

}  // namespace lockstep::translator
