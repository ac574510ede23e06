// How a wave reaches the guest's memory when that is more than the host's memory at the same address: through
// caches of its own, or only to see what it would touch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isa/instruction.h"
#include "state/wave.h"

namespace lockstep {

// The right to the access has been checked, and `range` is the mapped one that holds it. What comes back is
// valid until the next question and as large as the access; nothing is wider than kWidestAccess.
class MemoryView {
 public:
  static constexpr unsigned kWidestAccess = 256;  // 16 lanes of 16 bytes

  virtual const std::byte* read(const isa::Instruction& instruction, uint64_t address, uint64_t bytes,
                                const CachedRange& range) = 0;
  // The instruction writes all of it.
  virtual std::byte* write(const isa::Instruction& instruction, uint64_t address, uint64_t bytes) = 0;
  // An atomic reads and writes it.
  virtual std::byte* modify(const isa::Instruction& instruction, uint64_t address, uint64_t bytes) = 0;

 protected:
  ~MemoryView() = default;
};

}  // namespace lockstep
