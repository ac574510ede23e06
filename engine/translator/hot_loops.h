// Which loops of a long routine are worth to be translated before all of it is: a kernel of thousands of
// instructions takes seconds, its hot loop some tens of milliseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/translator/routine.h"

namespace lockstep::translator {

// A routine that is not longer is translated as a whole, and a loop that is longer only with it.
inline constexpr size_t kShortRoutine = 300, kMostLoopNodes = 250;

struct Loop {
  int64_t begin = 0, end = 0;  // offsets from the routine's entry
  size_t nodes = 0;
  uint32_t float_mode = 0;  // of waves that come to its begin

  bool contains(int64_t offset) const { return offset >= begin && offset < end; }
};

class HotLoops {
 public:
  HotLoops() = default;
  // None of a short routine. A loop is hot after so many wave-instructions for each instruction in it.
  HotLoops(const Routine& routine, uint64_t hot);

  bool empty() const { return loops_.empty(); }
  // So many wave-instructions were executed, as far as one knows where `offset` is. Returns the longest loop
  // that has become hot by that, or null; nothing in it is told of again.
  const Loop* add(int64_t offset, uint64_t instructions);

 private:
  struct Heated {
    Loop loop;
    uint64_t heat = 0;
    bool was_told = false;
  };
  uint64_t hot_ = 0;
  std::vector<Heated> loops_;
};

}  // namespace lockstep::translator
