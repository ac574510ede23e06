// What translated code and its runtime functions share while a dispatch runs.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/launch_needs.h"
#include "engine/translator/exits.h"
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
  // Where waves may enter: an entry for each dword of the code from `first_offset` on, 0 where they may not.
  int64_t first_offset = 0;
  uint64_t code_dwords = 0;
  const uint32_t* entry_numbers = nullptr;
  // By slot, of loops through which waves may go lane by lane: so many times they do not. Each thread may
  // lose what another one writes.
  std::atomic<uint32_t>* rests = nullptr;
};

// Both say how the wave left, as Leave. A RowFunction returns at the row's end, when all have ended, or when
// a wave has to go on elsewhere.
using RowFunction = uint32_t (*)(GroupRow*, const Context*);
using TranslatedFunction = uint32_t (*)(Wave*, const Context*, uint32_t entry, int64_t budget);

}  // namespace lockstep::translator
