#include "engine/straight.h"

#include <algorithm>

#include "isa/effects.h"
#include "isa/row_facts.h"

namespace lockstep {

namespace {

using isa::Opcode;

bool may_write_exec(const isa::Instruction& instruction) {
  const auto has_exec = [](const isa::RegisterUse& use) {
    return use.first <= isa::code::kExecHi && use.end() > isa::code::kExecLo;
  };
  const auto writes_scalar = [](const isa::Operand& operand) {
    return operand.written && !operand.is_vgpr();
  };
  const auto* const operands = instruction.operands.data();
  const bool writes_vgprs_only =
      std::none_of(operands, operands + instruction.operand_count, writes_scalar) &&
      isa::implicit_writes(instruction) == 0 && !instruction.row_y;
  if (writes_vgprs_only && !(instruction.row->flags & isa::kWritesExec) &&
      !isa::has_index(instruction.row->opcode))
    return false;
  // The wider size has all that the other one has.
  const isa::RegisterEffects effects = isa::register_effects(instruction, {.wave_size = 64, .m0 = {}});
  return instruction.row->flags & isa::kWritesExec || isa::has_index(instruction.row->opcode) ||
         std::any_of(effects.writes.begin(), effects.writes.end(), has_exec);
}

}  // namespace

bool goes_straight_on(const isa::Instruction& instruction) {
  const isa::Row& row = *instruction.row;
  switch (row.opcode) {
    // Registers that do not exist, messages that may not be sent, and what is no instruction, fault.
    case Opcode::s_getreg_b32:
    case Opcode::s_setreg_b32:
    case Opcode::s_setreg_imm32_b32:
    case Opcode::s_sendmsg_rtn_b32:
    case Opcode::s_sendmsg_rtn_b64:
    case Opcode::v_illegal:
      return false;
    default:
      break;
  }
  if (row.flags & (isa::kBranch | isa::kEndsWave)) return false;
  // Of program control, what changes nothing.
  if (row.encoding == isa::Encoding::sopp) return row.flags & (isa::kHint | isa::kWait);
  return (isa::is_scalar_alu(row.encoding) || isa::is_vector_alu(row.encoding)) &&
         !may_write_exec(instruction);
}

}  // namespace lockstep
