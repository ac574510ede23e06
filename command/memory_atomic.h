// Atomic operations of packets, by the numbers that the L2 cache has for them (AMD's PAL, TC_OP in
// gfx9_plus_merged_enum.h): both command processors and the copy engine name them so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "semantics/atomic.h"

namespace lockstep::command {

struct MemoryAtomic {
  semantics::AtomicOperation operation = semantics::AtomicOperation::none;
  bool wide = false;     // 64 bits
  bool returns = false;  // what was in memory

  // Nothing for the numbers of floating-point operations, of others and of none.
  static std::optional<MemoryAtomic> of(uint32_t number);
  bool compares() const { return operation == semantics::AtomicOperation::cmpswap; }
  unsigned bytes() const { return wide ? 8 : 4; }
  // What was in memory, which is aligned.
  uint64_t perform(std::byte* memory, uint64_t operand, uint64_t compared) const;
};

}  // namespace lockstep::command
