// Atomic operations of packets, by the numbers that the L2 cache has for them (AMD's PAL, TC_OP in
// gfx9_plus_merged_enum.h): both command processors and the copy engine name them so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace lockstep::command {

struct MemoryAtomic {
  enum class Kind : uint8_t {
    swap,
    compare_swap,
    add,
    subtract,
    signed_minimum,
    unsigned_minimum,
    signed_maximum,
    unsigned_maximum,
    bit_and,
    bit_or,
    bit_xor,
    increment,  // to 0 behind the operand
    decrement,  // to the operand behind 0, and from above it
  };
  Kind kind = Kind::add;
  bool wide = false;     // 64 bits
  bool returns = false;  // what was in memory

  // Nothing for the numbers of floating-point operations, of others and of none.
  static std::optional<MemoryAtomic> of(uint32_t number);
  unsigned bytes() const { return wide ? 8 : 4; }
  // What was in memory, which is aligned.
  uint64_t perform(std::byte* memory, uint64_t operand, uint64_t compared) const;
};

}  // namespace lockstep::command
