#include "engine/precise/destinations.h"

#include <bit>

#include "engine/register_effects.h"
#include "isa/memory_shape.h"

namespace lockstep::precise {

void clear_destinations(Wave& wave, const isa::Instruction& instruction, uint64_t lanes) {
  const isa::AccessShape& shape = isa::access_shape(instruction.row->opcode);
  for (const isa::RegisterUse& use : register_effects(wave, instruction).writes) {
    if (use.operand == isa::RegisterUse::kImplied) continue;
    for (unsigned word = 0; word < use.count; ++word) {
      if (!use.is_vgpr()) {
        // Where a program's scalar loads may write: SGPRs and VCC.
        if (use.first + word < kScalarTtmp0) wave.scalar[use.first + word] = 0;
        continue;
      }
      uint32_t* value = wave.vgpr(use.first - isa::code::kVgpr0 + word);
      const uint32_t kept = ~shape.used_bits(word);
      for (uint64_t rest = lanes & wave.lane_mask; rest != 0; rest &= rest - 1)
        value[std::countr_zero(rest)] &= kept;
    }
  }
}

}  // namespace lockstep::precise
