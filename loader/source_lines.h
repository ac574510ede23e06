// Where in the source an instruction comes from, for code compiled with -g (DWARF).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "loader/code_object.h"

namespace lockstep::loader {

struct SourceLocation {
  std::string function;  // empty if unknown
  std::string file;      // empty if unknown
  uint32_t line = 0;     // 0: unknown
  uint32_t column = 0;
};

class SourceLines {
 public:
  // Never fails: a code object without debug information has no locations. Keeps its own copy of what it
  // needs.
  explicit SourceLines(const CodeObject& object);
  ~SourceLines();
  SourceLines(SourceLines&&) noexcept;
  SourceLines& operator=(SourceLines&&) noexcept;

  bool has_debug_info() const;
  // Innermost inlined function first; empty if nothing is known. `address` is as linked. Not safe to call
  // from two threads at once: the DWARF reader parses on demand.
  std::vector<SourceLocation> find(uint64_t address) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::loader
