#include "engine/translator/register_range.h"

namespace lockstep::translator {
namespace {

bool is_out_of_range(const isa::Operand& operand, unsigned vgpr_count) {
  return operand.is_vgpr() && operand.vgpr() + operand.words > vgpr_count;
}

// Only a trap handler may write them, and it is never translated. NULL is a destination like any other.
bool is_trap_temporary(const isa::Operand& operand) {
  return operand.code >= isa::code::kTtmp0 && operand.code < isa::code::kNull;
}

// One of several is enough.
bool has_lost_destination(const isa::Instruction& instruction, unsigned vgpr_count) {
  const bool is_vector = isa::is_vector_alu(instruction.row->encoding);
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (!operand.written) continue;
    if (is_out_of_range(operand, vgpr_count)) return true;
    if (is_vector && is_trap_temporary(operand)) return true;
  }
  return false;
}

}  // namespace

RangeRule apply_range_rules(isa::Instruction& instruction, unsigned vgpr_count) {
  if (has_lost_destination(instruction, vgpr_count)) return RangeRule::nothing;
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
