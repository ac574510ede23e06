// Which code a range of the guest's memory has.
#pragma once

#include "engine/engine.h"
#include "memory/address_space.h"

namespace lockstep {

// Empty where the range is not to be executed, or holds no whole dword.
inline CodeRange code_of(const Range& range) {
  const CodeRange code{(range.begin + 3) & ~uint64_t{3}, range.end & ~uint64_t{3}, range.serial};
  return range.access & kExecute && code.begin < code.end ? code : CodeRange{};
}

// That of the range which holds the address; empty likewise.
inline CodeRange code_at(const RangeSet& memory, uint64_t pc) {
  const std::optional<Range> range = memory.nearest(pc);
  if (!range) return {};
  const CodeRange code = code_of(*range);
  return pc >= code.begin && pc < code.end ? code : CodeRange{};
}

}  // namespace lockstep
