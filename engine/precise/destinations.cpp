#include "engine/precise/destinations.h"

#include <bit>

#include "semantics/memory_shape.h"

namespace lockstep::precise {

namespace {

// The bits of a destination register that a load writes: 16-bit results leave the other half alone.
uint32_t written_bits(const semantics::AccessShape& shape, unsigned word) {
  if (shape.part == semantics::RegisterPart::low_half) return 0xffffu;
  if (shape.part == semantics::RegisterPart::high_half) return 0xffff0000u;
  const bool single = shape.d16 && shape.format_components == 2 * word + 1;
  return single ? 0xffffu : ~0u;
}

}  // namespace

void clear_destinations(Wave& wave, const isa::Instruction& instruction, uint64_t lanes) {
  const semantics::AccessShape shape = semantics::access_shape(instruction.row->opcode);
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (!operand.written) continue;
    for (unsigned word = 0; word < operand.words; ++word) {
      if (!operand.is_vgpr()) {
        // Where a program's scalar loads may write: SGPRs and VCC.
        if (operand.code + word < kScalarTtmp0) wave.scalar[operand.code + word] = 0;
        continue;
      }
      if (operand.vgpr() + operand.words > wave.vgpr_count) break;
      uint32_t* value = wave.vgpr(operand.vgpr() + word);
      const uint32_t kept = ~written_bits(shape, word);
      for (uint64_t rest = lanes & wave.lane_mask; rest != 0; rest &= rest - 1)
        value[std::countr_zero(rest)] &= kept;
    }
  }
}

}  // namespace lockstep::precise
