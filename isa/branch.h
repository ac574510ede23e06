// Where branches lead.
#pragma once

#include <optional>

#include "isa/instruction.h"

namespace lockstep::isa {

// The PC has 48 bits, the two lowest of which are zero (guide 3.1, table 4).
inline constexpr uint64_t kPcBits = 0xffff'ffff'fffc;

// What the label of a branch names: dwords from the next instruction, which is at `next`. Empty for
// instructions that have no label.
inline std::optional<uint64_t> label_target(const Instruction& instruction, uint64_t next) {
  for (unsigned i = 0; i < instruction.operand_count; ++i)
    if (instruction.operands[i].type == Type::label)
      return next + static_cast<uint64_t>(instruction.operands[i].value * 4);
  return std::nullopt;
}

}  // namespace lockstep::isa
