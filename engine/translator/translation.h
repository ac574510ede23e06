// A routine as host code.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/launch_needs.h"
#include "engine/translator/code_generator.h"
#include "engine/translator/context.h"
#include "engine/translator/jit.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

// Asked between the pieces of a routine, from the thread that translates; true: nobody wants it any more.
using IsCancelled = std::function<bool()>;
// Thrown then. What was translated is dropped.
struct Cancelled : std::exception {
  const char* what() const noexcept override { return "the translation was cancelled"; }
};

// An object for each piece of the routine. Throws Cancelled.
std::vector<Object> translate(const Routine& routine, const IsCancelled& is_cancelled = {});

class Translation {
 public:
  // The objects are of the routine, from this process or from another one.
  Translation(const Routine& routine, std::vector<Object> objects);

  // Where a wave enters translated code.
  struct Entry {
    TranslatedFunction function = nullptr;  // null: the instruction is a step
    uint32_t number = 0;
    uint32_t float_mode = 0;   // that waves must have
    uint32_t interpreted = 0;  // of a step: number in interpreted()
  };
  // At an offset from the routine's entry; null if there is nothing to enter.
  const Entry* entry_at(int64_t offset) const {
    const auto dword = static_cast<uint64_t>(offset - first_offset_) / 4;
    if (offset % 4 != 0 || dword >= entry_numbers_.size() || entry_numbers_[dword] == 0) return nullptr;
    return &entries_[entry_numbers_[dword] - 1];
  }
  int64_t first_offset() const { return first_offset_; }
  const std::vector<uint32_t>& entry_numbers() const { return entry_numbers_; }
  // Whether code calls the interpreter. For each entry of interpreted() somebody may count.
  bool has_calls() const { return has_calls_; }
  const LaunchNeeds& launch_needs() const { return launch_needs_; }
  // Of rows that count up; null: the routine has none.
  RowFunction row_function() const { return row_function_; }
  uint32_t float_mode() const { return float_mode_; }  // at the routine's entry
  // Whether the code may change the wave's float mode, and so may change it back.
  bool changes_mode() const { return changes_mode_; }
  bool selects_nans() const { return selects_nans_; }
  unsigned memory_slots() const { return memory_slots_; }
  size_t instructions() const { return instructions_; }
  size_t code_bytes() const { return code_bytes_; }
  const Stages& stages() const { return stages_; }
  const std::vector<InterpretedInstruction>& interpreted() const { return interpreted_; }

 private:
  size_t instructions_ = 0, code_bytes_ = 0;
  unsigned memory_slots_ = 0;
  uint32_t float_mode_;
  bool changes_mode_, selects_nans_;
  LaunchNeeds launch_needs_;
  RowFunction row_function_ = nullptr;
  Stages stages_;
  std::vector<InterpretedInstruction> interpreted_;
  bool has_calls_ = false;
  int64_t first_offset_ = 0;  // of the lowest instruction
  // For each dword of the code from there on which entry is there, counted from one.
  std::vector<uint32_t> entry_numbers_;
  std::vector<Entry> entries_;
  std::vector<std::unique_ptr<LoadedCode>> code_;
};

}  // namespace lockstep::translator
