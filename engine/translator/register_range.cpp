#include "engine/translator/register_range.h"

#include "isa/effects.h"

namespace lockstep::translator {
namespace {

bool is_out_of_range(const isa::Operand& operand, unsigned vgpr_count) {
  return operand.is_vgpr() && operand.vgpr() + operand.words > vgpr_count;
}

}  // namespace

RangeRule apply_range_rules(isa::Instruction& instruction, unsigned vgpr_count) {
  if (isa::has_lost_destination(instruction, vgpr_count, false)) return RangeRule::nothing;
  const bool is_vector = isa::is_vector_alu(instruction.row->encoding);
  const bool is_dual = instruction.row->encoding == isa::Encoding::vopd;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    isa::Operand& operand = instruction.operands[i];
    if (!is_out_of_range(operand, vgpr_count)) continue;
    // Memory instructions check each register of a group.
    if (!is_vector && operand.words > 1) return RangeRule::interpreted;
    operand.code = static_cast<uint16_t>(isa::code::kVgpr0 + (is_dual ? operand.vgpr() % 4 : 0));
  }
  return RangeRule::executed;
}

}  // namespace lockstep::translator
