#include "engine/translator/classify.h"

#include "engine/translator/body_signature.h"
#include "engine/translator/operands.h"
#include "isa/operand_rules.h"
#include "semantics/memory_shape.h"

namespace lockstep::translator {
namespace {

using isa::Encoding;
using isa::Opcode;
using isa::Role;

bool is_hint(Opcode opcode) {
  switch (opcode) {
    case Opcode::s_nop:
    case Opcode::s_waitcnt:
    case Opcode::s_waitcnt_vmcnt:
    case Opcode::s_waitcnt_expcnt:
    case Opcode::s_waitcnt_lgkmcnt:
    case Opcode::s_waitcnt_depctr:
    case Opcode::s_wait_event:
    case Opcode::s_delay_alu:
    case Opcode::s_clause:
    case Opcode::s_set_inst_prefetch_distance:
    case Opcode::s_icache_inv:
    case Opcode::s_dcache_inv:
    case Opcode::s_gl1_inv:
    case Opcode::buffer_gl0_inv:
    case Opcode::buffer_gl1_inv:
    case Opcode::s_setprio:
    case Opcode::s_version:
    case Opcode::s_wakeup:
    case Opcode::v_nop:
      return true;
    default:
      return false;
  }
}

// A scalar instruction that may not write its destination writes SCC neither (guide 3.3.1.4); EXEC and the PC
// it does write.
bool is_nullified(const isa::Instruction& instruction) {
  const isa::Operand* destination = instruction.find(Role::dst);
  return destination && destination->written && is_trap_temporary(*destination) &&
         !(instruction.row->implicit_writes & ~isa::kScc) && !(instruction.row->flags & isa::kBranch);
}

bool sources_known(const isa::Instruction& instruction, std::string& reason) {
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.is_vgpr() && operand.vgpr() + operand.words > 256) {
      reason = "a register group that runs past v255";
      return false;
    }
    const bool is_source = operand.role >= Role::src0 && operand.type != isa::Type::label;
    if (is_source && !source_of(operand, instruction)) {
      reason = "a status bit as operand";
      return false;
    }
  }
  return true;
}

bool vector_half_known(const isa::Instruction& instruction, const Half& half, std::string& reason) {
  const VectorSignature& signature = vector_signature(half.row->base);
  if (!signature.callable) {
    reason = "no body over single lanes";
    return false;
  }
  if (instruction.dpp != isa::Dpp::none) {
    reason = "DPP";
    return false;
  }
  if (signature.result.kind == Operand::Kind::two_halves && (instruction.clamp || instruction.omod)) {
    reason = "CLAMP of packed results";
    return false;
  }
  for (unsigned i = 0; i < signature.count; ++i)
    if (signature.parameters[i].kind == Operand::Kind::mix ||
        signature.parameters[i].kind == Operand::Kind::two_halves) {
      reason = "packed or mixed-precision operands";
      return false;
    }
  unsigned operands = 0, explicit_parameters = 0;
  for (unsigned i = half.first; i < half.last; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.type == isa::Type::bf16) {
      reason = "brain floats";
      return false;
    }
    if (isa::chooses_halves(operand, *half.row)) {
      reason = "halves of an operand of 32 bits";
      return false;
    }
    if (isa::is_beyond_vector_alu(operand, *half.row)) {
      reason = "M0 or EXEC as the destination of a vector instruction";
      return false;
    }
    operands += operand.role >= Role::src0 || (operand.role == Role::dst && operand.read);
  }
  for (unsigned i = 0; i < signature.count; ++i) {
    const Operand::Kind kind = signature.parameters[i].kind;
    explicit_parameters += kind != Operand::Kind::mode && kind != Operand::Kind::lane_numbers &&
                           kind != Operand::Kind::sign_bits;
  }
  // v_div_fmas reads VCC without naming it.
  if (half.row->implicit_reads & isa::kVcc) ++operands;
  if (operands != explicit_parameters) {
    reason = "operands that do not match the body's parameters";
    return false;
  }
  return true;
}

bool is_translated_memory(const isa::Instruction& instruction, std::string& reason) {
  const semantics::AccessShape shape = semantics::access_shape(instruction.row->opcode);
  if (!shape || shape.add_lane_id || shape.format_components || shape.to_lds || instruction.gds) {
    reason = "this kind of memory access";
    return false;
  }
  return true;
}

std::optional<NodeKind> classify_kind(const isa::Instruction& instruction, std::string& reason) {
  const isa::Row& row = *instruction.row;
  if (is_hint(row.opcode)) return NodeKind::nothing;
  if (row.opcode == Opcode::s_waitcnt_vscnt || row.opcode == Opcode::s_wait_idle) return NodeKind::store_wait;
  switch (row.opcode) {
    case Opcode::s_branch:
    case Opcode::s_cbranch_scc0:
    case Opcode::s_cbranch_scc1:
    case Opcode::s_cbranch_vccz:
    case Opcode::s_cbranch_vccnz:
    case Opcode::s_cbranch_execz:
    case Opcode::s_cbranch_execnz:
      return NodeKind::branch;
    case Opcode::s_barrier:
      return NodeKind::barrier;
    case Opcode::s_sleep:
      return NodeKind::sleep;
    case Opcode::s_endpgm:
      return NodeKind::end;
    case Opcode::s_sendmsg: {
      if (frees_vgprs(instruction)) return NodeKind::nothing;
      reason = "a message";
      return std::nullopt;
    }
    default:
      break;
  }
  switch (row.encoding) {
    case Encoding::sop1:
    case Encoding::sop2:
    case Encoding::sopc:
    case Encoding::sopk:
      if (is_nullified(instruction)) return NodeKind::nothing;
      if (scalar_signature(row.opcode).callable) return NodeKind::scalar_alu;
      reason = "no scalar body";
      return std::nullopt;
    case Encoding::smem:
      if (is_translated_memory(instruction, reason) && !instruction.find(Role::resource))
        return NodeKind::scalar_load;
      if (reason.empty()) reason = "a load through a buffer resource";
      return std::nullopt;
    case Encoding::global:
      if (is_translated_memory(instruction, reason)) return NodeKind::global;
      return std::nullopt;
    case Encoding::ds:
      if (is_translated_memory(instruction, reason)) return NodeKind::lds;
      return std::nullopt;
    default:
      break;
  }
  if (isa::is_vector_alu(row.encoding)) {
    for (const Half& half : halves_of(instruction))
      if (!vector_half_known(instruction, half, reason)) return std::nullopt;
    return row.encoding == Encoding::vopd ? NodeKind::dual : NodeKind::vector_alu;
  }
  reason = "not translated yet";
  return std::nullopt;
}

}  // namespace

std::vector<Half> halves_of(const isa::Instruction& instruction) {
  if (instruction.row->encoding != Encoding::vopd) return {{instruction.row, 0, instruction.operand_count}};
  return {{instruction.row, 0, instruction.first_y_operand},
          {instruction.row_y, instruction.first_y_operand, instruction.operand_count}};
}

bool frees_vgprs(const isa::Instruction& instruction) {
  constexpr unsigned kDeallocVgprs = 3;
  return instruction.row->opcode == Opcode::s_sendmsg &&
         (instruction.operands[0].value & 0xff) == kDeallocVgprs;
}

bool names_vgpr(const isa::Instruction& instruction) {
  for (unsigned i = 0; i < instruction.operand_count; ++i)
    if (instruction.operands[i].is_vgpr()) return true;
  return false;
}

std::optional<NodeKind> classify(const isa::Instruction& instruction, std::string& reason) {
  const auto kind = classify_kind(instruction, reason);
  if (!kind || *kind == NodeKind::nothing || *kind == NodeKind::store_wait || *kind == NodeKind::branch)
    return kind;
  return sources_known(instruction, reason) ? kind : std::nullopt;
}

}  // namespace lockstep::translator
