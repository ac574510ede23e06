#include "engine/translator/classify.h"

#include "engine/translator/body_signature.h"
#include "engine/translator/operands.h"
#include "engine/translator/register_range.h"
#include "isa/effects.h"
#include "isa/hardware_registers.h"
#include "isa/memory_shape.h"
#include "isa/operand_rules.h"
#include "isa/row_facts.h"
#include "semantics/cross_lane.h"
#include "semantics/memory_shape.h"

namespace lockstep::translator {
namespace {

using isa::Encoding;
using isa::Opcode;
using isa::Role;

// In wave64 a mask is a pair that begins at an even number, and never a constant.
bool masks_are_pairs(const isa::Instruction& instruction) {
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.type != isa::Type::mask || operand.code == isa::code::kNull) continue;
    if (operand.code % 2 != 0 || operand.code >= isa::code::kInt0) return false;
  }
  return true;
}

bool sources_known(const isa::Instruction& instruction, std::string& reason) {
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    const bool is_source = operand.role >= Role::src0 && operand.type != isa::Type::label;
    if (is_source && !source_of(operand, instruction)) {
      reason = "a status bit as operand";
      return false;
    }
  }
  return true;
}

bool is_known_dpp(const isa::Instruction& instruction) {
  const isa::Operand* source = instruction.find(Role::src0);
  if (!source || !source->is_vgpr()) return false;
  return instruction.dpp == isa::Dpp::dpp8 || semantics::dpp16_row_shuffle(instruction.dpp_control).known;
}

bool vector_half_known(const isa::Instruction& instruction, const Half& half, std::string& reason) {
  const VectorSignature& signature = vector_signature(half.row->base);
  if (!signature.callable) {
    reason = "no body over single lanes";
    return false;
  }
  if (instruction.dpp != isa::Dpp::none && !is_known_dpp(instruction)) {
    reason = "a reserved DPP control";
    return false;
  }
  unsigned operands = 0, explicit_parameters = 0;
  for (unsigned i = half.first; i < half.last; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.type == isa::Type::bf16 || operand.type == isa::Type::pk_bf16) {
      reason = "brain floats";
      return false;
    }
    if (isa::chooses_halves(operand, *half.row)) {
      reason = "halves of an operand of 32 bits";
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
  const isa::AccessShape shape = isa::access_shape(instruction.row->opcode);
  const bool moves =
      shape.kind == isa::AccessShape::Kind::load || shape.kind == isa::AccessShape::Kind::store;
  if (!moves || shape.add_lane_id || shape.format_components || shape.to_lds || instruction.gds) {
    reason = "this kind of memory access";
    return false;
  }
  return true;
}

bool is_translated_atomic(const isa::Instruction& instruction);

bool is_translated_buffer(const isa::Instruction& instruction) {
  const isa::AccessShape shape = isa::access_shape(instruction.row->opcode);
  if (shape.kind == isa::AccessShape::Kind::atomic) return is_translated_atomic(instruction);
  return shape.kind != isa::AccessShape::Kind::none && !shape.to_lds;
}

bool is_translated_atomic(const isa::Instruction& instruction) {
  const semantics::AtomicShape& shape = semantics::atomic_shape(instruction.row->opcode);
  return shape && shape.addresses == 1 && shape.bytes != 0 && !instruction.gds &&
         shape.operation <= semantics::AtomicOperation::fcmpswap;
}

// EXEC as the result of a load or of a lane read changes lanes that nothing else accounts for.
bool loads_exec(const isa::Instruction& instruction) {
  const isa::Operand& destination = *instruction.find(Role::dst);
  return destination.code <= isa::code::kExecHi && destination.code + destination.words > isa::code::kExecLo;
}

NodeKind classify_kind(const isa::Instruction& instruction, std::string& reason) {
  const isa::Row& row = *instruction.row;
  if (row.flags & isa::kHint) return NodeKind::nothing;
  if (row.flags & isa::kWait) return NodeKind::store_wait;
  if (constant_mode_write(instruction)) return NodeKind::mode_write;
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
    case Opcode::s_wakeup:
    case Opcode::s_setprio:
      reason = "it concerns the other waves";
      return NodeKind::step;
    case Opcode::v_readlane_b32:
    case Opcode::v_readfirstlane_b32:
      if (!loads_exec(instruction)) return NodeKind::lane_access;
      reason = "EXEC read from a lane";
      return NodeKind::step;
    case Opcode::v_writelane_b32:
      return NodeKind::lane_access;
    case Opcode::ds_permute_b32:
    case Opcode::ds_bpermute_b32:
    case Opcode::ds_swizzle_b32:
      if (!instruction.gds) return NodeKind::permute;
      reason = "GDS";
      return NodeKind::step;
    case Opcode::v_permlane16_b32:
    case Opcode::v_permlanex16_b32:
    case Opcode::v_permlane64_b32:
      return NodeKind::permute;
    case Opcode::s_getpc_b64:
      return isa::is_nullified(instruction, false) ? NodeKind::nothing : NodeKind::get_pc;
    case Opcode::s_setpc_b64:
    case Opcode::s_swappc_b64:
    case Opcode::s_call_b64: {
      const isa::Operand *target = instruction.find(Role::src0), *link = instruction.find(Role::dst);
      const auto is_pair = [](const isa::Operand& operand) { return operand.code <= isa::code::kVccHi - 1; };
      if ((!target || target->type == isa::Type::label || is_pair(*target)) && (!link || is_pair(*link)))
        return NodeKind::jump;
      reason = "an address that is in no SGPRs";
      return NodeKind::step;
    }
    case Opcode::s_endpgm:
      return NodeKind::end;
    case Opcode::s_code_end:
    case Opcode::v_illegal:
      reason = "padding";
      return NodeKind::outside;
    case Opcode::s_sendmsg: {
      if (frees_vgprs(instruction)) return NodeKind::nothing;
      reason = "a message";
      return NodeKind::step;
    }
    default:
      break;
  }
  switch (row.encoding) {
    case Encoding::sop1:
    case Encoding::sop2:
    case Encoding::sopc:
    case Encoding::sopk:
      if (isa::is_nullified(instruction, false)) return NodeKind::nothing;
      if (scalar_signature(row.opcode).callable) return NodeKind::scalar_alu;
      reason = "no scalar body";
      return NodeKind::step;
    case Encoding::smem:
      if (!is_translated_memory(instruction, reason)) return NodeKind::step;
      reason = "a load to EXEC";
      if (loads_exec(instruction)) return NodeKind::step;
      if (const isa::Operand* resource = instruction.find(Role::resource)) {
        // A negative immediate is a violation (guide 8.1.2).
        reason = "a buffer resource that is in no SGPRs, or an offset before it";
        if (resource->code > isa::code::kVccHi - 3 || instruction.offset < 0) return NodeKind::step;
      }
      return NodeKind::scalar_load;
    case Encoding::global:
    case Encoding::flat:
      if (is_translated_atomic(instruction)) return NodeKind::atomic;
      return is_translated_memory(instruction, reason) ? NodeKind::global : NodeKind::step;
    case Encoding::scratch:
      return is_translated_memory(instruction, reason) ? NodeKind::scratch : NodeKind::step;
    case Encoding::mubuf:
    case Encoding::mtbuf:
      if (!is_translated_buffer(instruction)) {
        reason = "this kind of memory access";
        return NodeKind::step;
      }
      if (instruction.tfe) {
        reason = "the status of a texture fail";
        return NodeKind::step;
      }
      if (instruction.find(Role::resource)->code <= isa::code::kVccHi - 3)
        return is_translated_atomic(instruction) ? NodeKind::atomic : NodeKind::buffer;
      reason = "a buffer resource that is in no SGPRs";
      return NodeKind::step;
    case Encoding::ds:
      if (is_translated_atomic(instruction)) return NodeKind::atomic;
      return is_translated_memory(instruction, reason) ? NodeKind::lds : NodeKind::step;
    default:
      break;
  }
  if ((row.base == Opcode::v_movrels_b32 || row.base == Opcode::v_movreld_b32) &&
      instruction.dpp == isa::Dpp::none &&
      (row.base == Opcode::v_movreld_b32 || instruction.find(Role::src0)->is_vgpr()))
    return NodeKind::indexed;
  if (row.flags & isa::kMatrix) {
    const isa::Operand& c = *instruction.find(Role::src2);
    const auto addend = source_of(c, instruction);
    if (c.is_vgpr() || (addend && addend->is_constant)) return NodeKind::matrix;
    reason = "a matrix in SGPRs";
    return NodeKind::step;
  }
  if (isa::is_vector_alu(row.encoding)) {
    for (const Half& half : halves_of(instruction))
      if (!vector_half_known(instruction, half, reason)) return NodeKind::step;
    return row.encoding == Encoding::vopd ? NodeKind::dual : NodeKind::vector_alu;
  }
  reason = "not translated yet";
  return NodeKind::step;
}

// Instructions that only compute or move data, in registers that are known before: the interpreter may
// execute them in the middle of translated code.
bool can_be_called(const isa::Instruction& instruction, unsigned wave_size, unsigned vgpr_count) {
  const isa::Row& row = *instruction.row;
  switch (row.encoding) {
    case Encoding::ds:
    case Encoding::flat:
    case Encoding::global:
    case Encoding::scratch:
    case Encoding::mubuf:
    case Encoding::mtbuf:
    case Encoding::smem:
      break;
    default:
      if (!isa::is_vector_alu(row.encoding)) return false;
  }
  // GDS: it may wait for other waves.
  if (instruction.gds || (row.implicit_writes & isa::kMode) || (row.flags & (isa::kBranch | isa::kEndsWave)))
    return false;
  const isa::RegisterEffects effects =
      isa::register_effects(instruction, {.wave_size = wave_size, .vgpr_count = vgpr_count, .m0 = {}});
  for (const isa::RegisterUse& use : effects.writes)
    if (use.is_indexed || use.has_exec()) return false;
  return true;
}

}  // namespace

std::vector<Half> halves_of(const isa::Instruction& instruction) {
  if (instruction.row->encoding != Encoding::vopd) return {{instruction.row, 0, instruction.operand_count}};
  return {{instruction.row, 0, instruction.first_y_operand},
          {instruction.row_y, instruction.first_y_operand, instruction.operand_count}};
}

bool frees_vgprs(const isa::Instruction& instruction) {
  return instruction.row->opcode == Opcode::s_sendmsg &&
         (instruction.operands[0].value & 0xff) == isa::message::kDeallocVgprs;
}

namespace {

// That s_setreg writes.
isa::HardwareField written_field(const isa::Instruction& instruction) {
  return isa::hardware_field(static_cast<uint32_t>(instruction.find(Role::simm)->value));
}

}  // namespace

std::optional<ModeWrite> constant_mode_write(const isa::Instruction& instruction) {
  switch (instruction.row->opcode) {
    case Opcode::s_round_mode:
      return ModeWrite{0xf, static_cast<uint32_t>(instruction.operands[0].value) & 0xf};
    case Opcode::s_denorm_mode:
      return ModeWrite{0xf0, (static_cast<uint32_t>(instruction.operands[0].value) & 0xf) << 4};
    case Opcode::s_setreg_imm32_b32: {
      const isa::HardwareField field = written_field(instruction);
      if (field.number != isa::hardware_register::kMode) return std::nullopt;
      const uint32_t mask = field.mask() << field.offset;
      return ModeWrite{mask, instruction.literal << field.offset & mask};
    }
    default:
      return std::nullopt;
  }
}

bool may_write_mode(const isa::Instruction& instruction) {
  if (!(instruction.row->implicit_writes & isa::kMode)) return false;
  const isa::Opcode opcode = instruction.row->opcode;
  const bool names_register = opcode == Opcode::s_setreg_b32 || opcode == Opcode::s_setreg_imm32_b32;
  return !names_register || written_field(instruction).number == isa::hardware_register::kMode;
}

bool is_function_call(const isa::Instruction& jump) {
  return jump.row->opcode == Opcode::s_swappc_b64 || jump.row->opcode == Opcode::s_call_b64;
}

bool names_vgpr(const isa::Instruction& instruction) {
  for (unsigned i = 0; i < instruction.operand_count; ++i)
    if (instruction.operands[i].is_vgpr()) return true;
  return false;
}

namespace {

NodeKind checked_kind(isa::Instruction& instruction, unsigned wave_size, unsigned vgpr_count,
                      std::string& reason) {
  // Wave64 skips dual-issue instructions (guide 7.6).
  if (wave_size == 64 && instruction.row->encoding == Encoding::vopd) return NodeKind::nothing;
  // Without halves to swap (guide 7.7).
  if (wave_size == 32 && instruction.row->opcode == Opcode::v_permlane64_b32) return NodeKind::nothing;
  const NodeKind kind = classify_kind(instruction, reason);
  switch (kind) {
    case NodeKind::scalar_alu:
      return sources_known(instruction, reason) ? kind : NodeKind::step;
    case NodeKind::vector_alu:
      if (wave_size == 64 && !masks_are_pairs(instruction)) {
        reason = "a mask that is no pair of registers";
        return NodeKind::step;
      }
      [[fallthrough]];
    case NodeKind::dual:
    case NodeKind::lane_access:
    case NodeKind::permute:
    case NodeKind::indexed:
    case NodeKind::scalar_load:
    case NodeKind::global:
    case NodeKind::scratch:
    case NodeKind::buffer:
    case NodeKind::atomic:
    case NodeKind::lds:
    case NodeKind::matrix:
      if (!sources_known(instruction, reason)) return NodeKind::step;
      break;
    default:
      return kind;
  }
  // What an index counts from is looked at as it is.
  const bool is_moved = kind == NodeKind::indexed && instruction.row->base == Opcode::v_movrels_b32 &&
                        instruction.find(Role::src0)->vgpr() >= vgpr_count;
  if (is_moved) {
    reason = "an index that counts from behind the registers";
    return NodeKind::step;
  }
  switch (apply_range_rules(instruction, vgpr_count)) {
    case RangeRule::executed:
      return kind;
    case RangeRule::nothing:
      return NodeKind::nothing;
    case RangeRule::interpreted:
      break;
  }
  reason = "a group of registers that is partly out of range";
  return NodeKind::step;
}

}  // namespace

NodeKind classify(isa::Instruction& instruction, unsigned wave_size, unsigned vgpr_count,
                  std::string& reason) {
  const NodeKind kind = checked_kind(instruction, wave_size, vgpr_count, reason);
  return kind == NodeKind::step && can_be_called(instruction, wave_size, vgpr_count) ? NodeKind::call : kind;
}

}  // namespace lockstep::translator
