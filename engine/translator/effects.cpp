#include "engine/translator/effects.h"

#include "engine/translator/body_signature.h"
#include "engine/translator/classify.h"
#include "engine/translator/operands.h"
#include "semantics/memory_shape.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;
using isa::Role;

void add_source(Effects& effects, const isa::Operand& operand, const isa::Instruction& instruction) {
  const auto source = source_of(operand, instruction);
  if (!source || source->is_constant) return;
  for (unsigned i = 0; i < operand.words; ++i) effects.reads.set(source->first + i);
}

void add_destination(Effects& effects, const isa::Operand& operand) {
  if (operand.is_vgpr()) {
    for (unsigned i = 0; i < operand.words; ++i) effects.writes.set(operand.vgpr() + i);
  } else if (const auto first = scalar_destination(operand)) {
    for (unsigned i = 0; i < operand.words; ++i) effects.writes.set(*first + i);
  }
}

// Half a register changes: the other half is an input.
bool writes_half(const Node& node) {
  if (node.kind == NodeKind::lane_access || node.kind == NodeKind::permute) return false;
  if (node.kind == NodeKind::vector_alu)
    return vector_signature(node.instruction.row->base).result.kind == Operand::Kind::half;
  return semantics::access_shape(node.instruction.row->opcode).part != semantics::RegisterPart::whole;
}

// Names EXEC as the destination of the old EXEC.
bool overwrites_exec(const isa::Instruction& instruction) {
  const isa::Operand* destination = instruction.find(Role::dst);
  return destination && (destination->code == isa::code::kExecLo || destination->code == isa::code::kExecHi);
}

// How a write to EXEC relates to its old value: the lanes that are on afterwards.
ExecChange exec_change(const Node& node) {
  const isa::Instruction& instruction = node.instruction;
  if (node.kind != NodeKind::scalar_alu) return ExecChange::shrinks;  // v_cmpx: only lanes that are on
  // The same half of EXEC, or all of it.
  const auto is_destination = [&](Role role) {
    const isa::Operand *operand = instruction.find(role), *destination = instruction.find(Role::dst);
    return operand && destination && operand->code == destination->code;
  };
  switch (instruction.row->opcode) {
    case Opcode::s_and_saveexec_b32:
    case Opcode::s_and_saveexec_b64:
    case Opcode::s_and_not0_saveexec_b32:
    case Opcode::s_and_not0_saveexec_b64:
    case Opcode::s_and_not0_wrexec_b32:
    case Opcode::s_and_not0_wrexec_b64:
      return overwrites_exec(instruction) ? ExecChange::any : ExecChange::shrinks;
    case Opcode::s_or_saveexec_b32:
    case Opcode::s_or_saveexec_b64:
      return overwrites_exec(instruction) ? ExecChange::any : ExecChange::grows;
    case Opcode::s_and_b32:
    case Opcode::s_and_b64:
      return is_destination(Role::src0) || is_destination(Role::src1) ? ExecChange::shrinks : ExecChange::any;
    case Opcode::s_and_not1_b32:
    case Opcode::s_and_not1_b64:
      return is_destination(Role::src0) ? ExecChange::shrinks : ExecChange::any;
    case Opcode::s_or_b32:
    case Opcode::s_or_b64:
      return is_destination(Role::src0) || is_destination(Role::src1) ? ExecChange::grows : ExecChange::any;
    default:
      return ExecChange::any;
  }
}

RegisterSet all_registers(unsigned vgpr_count) {
  RegisterSet all;
  all.set();
  for (unsigned i = vgpr_count; i < kVgprs; ++i) all.reset(i);
  return all;
}

// Which registers it reads is known only when it is executed, or other code may follow.
bool may_read_all(const Node& node) {
  if (node.kind == NodeKind::outside || (node.instruction.row->flags & isa::kBranch)) return true;
  switch (node.instruction.row->opcode) {
    case Opcode::s_movrels_b32:
    case Opcode::s_movrels_b64:
    case Opcode::s_movrelsd_2_b32:
    case Opcode::v_movrels_b32:
    case Opcode::v_movrelsd_b32:
    case Opcode::v_movrelsd_2_b32:
    case Opcode::v_swaprel_b32:
      return true;
    default:
      return false;
  }
}

// Of what the interpreter does. What it writes may be written in part, and so counts as kept; it is read from
// the Wave again in any case.
Effects interpreted_effects(const Node& node, unsigned vgpr_count) {
  Effects effects;
  effects.reads_all_lanes = true;
  effects.exec = ExecChange::any;
  if (may_read_all(node)) {
    effects.reads = all_registers(vgpr_count);
    return effects;
  }
  effects.exec = ExecChange::none;
  const isa::Instruction& instruction = node.instruction;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.type == isa::Type::label || operand.type == isa::Type::hwreg || operand.role == Role::simm)
      continue;
    if (operand.is_vgpr()) {
      // Registers out of range stand for v0, or for those below v4.
      for (unsigned word = 0; word < operand.words; ++word) {
        effects.reads.set(word);
        if (operand.vgpr() + word < vgpr_count) effects.reads.set(operand.vgpr() + word);
        effects.reads.set(operand.vgpr() % 4);
      }
    } else if (operand.code < isa::code::kInt0) {
      for (unsigned code = operand.code & ~1u; code < operand.code + operand.words && code < isa::code::kInt0;
           ++code)
        effects.reads.set(scalar_register(code));
      if (operand.written && operand.code <= isa::code::kExecHi &&
          operand.code + operand.words > isa::code::kExecLo)
        effects.exec = ExecChange::any;
    }
  }
  // What it may look at without naming it, STATUS among it.
  for (unsigned number : {kExec, kExec + 1, kVcc, kVcc + 1, kScc, scalar_register(isa::code::kM0)})
    effects.reads.set(number);
  if (instruction.row->implicit_writes & isa::kExec) effects.exec = ExecChange::any;
  return effects;
}

}  // namespace

bool writes_exec(const Effects& effects, unsigned wave_size) {
  return effects.writes[kExec] || (wave_size == 64 && effects.writes[kExec + 1]);
}

Effects effects_of(const Node& node, unsigned wave_size, unsigned vgpr_count) {
  Effects effects;
  const isa::Instruction& instruction = node.instruction;
  switch (node.kind) {
    case NodeKind::nothing:
    case NodeKind::store_wait:
    case NodeKind::barrier:
    case NodeKind::end:
      return effects;
    case NodeKind::step:
    case NodeKind::outside:
      return interpreted_effects(node, vgpr_count);
    default:
      break;
  }
  uint32_t reads = instruction.row->implicit_reads, writes = instruction.row->implicit_writes;
  if (instruction.row_y) reads |= instruction.row_y->implicit_reads;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.type == isa::Type::label) continue;
    const bool is_destination = operand.role == Role::dst || operand.role == Role::dst2;
    if (!is_destination || operand.read) add_source(effects, operand, instruction);
    if (is_destination) add_destination(effects, operand);
  }
  const bool is_dpp = instruction.dpp != isa::Dpp::none;
  const bool is_lane_write = instruction.row->opcode == Opcode::v_writelane_b32;
  effects.reads_all_lanes = node.kind == NodeKind::lane_access || (is_dpp && instruction.fetch_inactive);
  // DPP leaves alone lanes of EXEC without a source.
  if (writes_half(node) || is_dpp || is_lane_write)
    for (unsigned i = 0; i < kVgprs; ++i)
      if (effects.writes[i]) effects.reads.set(i);
  const bool is_scalar = node.kind == NodeKind::scalar_alu;
  const bool exec_is_pair =
      is_scalar ? scalar_signature(instruction.row->opcode).exec_is_pair : wave_size == 64;
  const auto add_mask = [](RegisterSet& set, unsigned number, bool is_pair) {
    set.set(number);
    if (is_pair) set.set(number + 1);
  };
  if (reads & isa::kExec) add_mask(effects.reads, kExec, exec_is_pair);
  if (reads & isa::kVcc) add_mask(effects.reads, kVcc, wave_size == 64);
  if (reads & isa::kScc) effects.reads.set(kScc);
  if (writes & isa::kExec) add_mask(effects.writes, kExec, exec_is_pair);
  if (writes & isa::kScc) effects.writes.set(kScc);
  if (writes_exec(effects, wave_size)) effects.exec = exec_change(node);
  return effects;
}

}  // namespace lockstep::translator
