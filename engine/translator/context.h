// What translated code and its runtime functions share while a dispatch runs.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/launch_needs.h"
#include "memory/address_space.h"
#include "state/wave.h"

namespace lockstep::translator {

// Executes one instruction at Wave::pc as the interpreter does it; returns how many it has executed.
class Stepper {
 public:
  virtual int64_t step(Wave& wave) = 0;

 protected:
  ~Stepper() = default;
};

struct Context {
  uint64_t entry = 0;                // guest address of the routine
  const RangeSet* memory = nullptr;  // null: all of the process's memory is the guest's
  // For each memory instruction the range that it hit last; every thread may replace it by another valid one.
  std::atomic<const Range*>* last_range = nullptr;
  Stepper* stepper = nullptr;
};

// How a wave left translated code.
enum class Leave : uint32_t {
  stopped,    // Wave::state says why; Wave::pc is where it goes on
  interpret,  // what follows Wave::pc is for the interpreter: it may fault, needs exact floats, or is not
              // here
  step,       // one instruction at Wave::pc is for the interpreter
};

// Returns at the row's end, or when a wave has to go on elsewhere.
using RowFunction = void (*)(GroupRow*, const Context*);
using TranslatedFunction = uint32_t (*)(Wave*, const Context*, uint32_t entry, int64_t budget);

}  // namespace lockstep::translator
