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
  if (node.kind == NodeKind::vector_alu)
    return vector_signature(node.instruction.row->base).result.kind == Operand::Kind::half;
  return semantics::access_shape(node.instruction.row->opcode).part != semantics::RegisterPart::whole;
}

// How a write to EXEC relates to its old value: the lanes that are on afterwards.
ExecChange exec_change(const Node& node) {
  const isa::Instruction& instruction = node.instruction;
  if (node.kind != NodeKind::scalar_alu) return ExecChange::shrinks;  // v_cmpx: only lanes that are on
  const auto is_exec = [&](Role role) {
    const isa::Operand* operand = instruction.find(role);
    return operand && operand->code == isa::code::kExecLo;
  };
  switch (instruction.row->opcode) {
    case Opcode::s_and_saveexec_b32:
    case Opcode::s_and_not0_saveexec_b32:
    case Opcode::s_and_not0_wrexec_b32:
      return ExecChange::shrinks;
    case Opcode::s_or_saveexec_b32:
      return ExecChange::grows;
    case Opcode::s_and_b32:
      return is_exec(Role::src0) || is_exec(Role::src1) ? ExecChange::shrinks : ExecChange::any;
    case Opcode::s_and_not1_b32:
      return is_exec(Role::src0) ? ExecChange::shrinks : ExecChange::any;
    case Opcode::s_or_b32:
      return is_exec(Role::src0) || is_exec(Role::src1) ? ExecChange::grows : ExecChange::any;
    default:
      return ExecChange::any;
  }
}

}  // namespace

Effects effects_of(const Node& node) {
  Effects effects;
  const isa::Instruction& instruction = node.instruction;
  switch (node.kind) {
    case NodeKind::nothing:
    case NodeKind::store_wait:
    case NodeKind::barrier:
    case NodeKind::sleep:
    case NodeKind::end:
      return effects;
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
  if (writes_half(node))
    for (unsigned i = 0; i < kVgprs; ++i)
      if (effects.writes[i]) effects.reads.set(i);
  if (reads & isa::kExec) effects.reads.set(kExec);
  if (reads & isa::kVcc) effects.reads.set(kVcc);
  if (reads & isa::kScc) effects.reads.set(kScc);
  if (writes & isa::kExec) effects.writes.set(kExec);
  if (writes & isa::kScc) effects.writes.set(kScc);
  if (effects.writes[kExec]) effects.exec = exec_change(node);
  return effects;
}

}  // namespace lockstep::translator
