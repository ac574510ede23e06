#include "engine/translator/effects.h"

#include "engine/translator/classify.h"
#include "engine/translator/operands.h"
#include "isa/effects.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;
using isa::Role;

void add(RegisterSet& set, const isa::RegisterUse& use, unsigned vgpr_count) {
  if (use.is_indexed) {
    const bool is_vgpr = use.is_vgpr();
    const unsigned first = is_vgpr ? 0 : kFirstScalar, count = is_vgpr ? vgpr_count : isa::code::kInt0;
    for (unsigned i = 0; i < count; ++i) set.set(first + i);
    return;
  }
  const unsigned first = use.is_vgpr()                  ? use.first - isa::code::kVgpr0
                         : use.first == isa::code::kScc ? kScc
                                                        : scalar_register(use.first);
  for (unsigned i = 0; i < use.count; ++i) set.set(first + i);
}

// Names EXEC as the destination of the old EXEC.
bool overwrites_exec(const isa::Instruction& instruction) {
  const isa::Operand* destination = instruction.find(Role::dst);
  return destination && (destination->code == isa::code::kExecLo || destination->code == isa::code::kExecHi);
}

// How a write to EXEC relates to its old value: the lanes that are on afterwards.
ExecChange exec_change(const Node& node, unsigned wave_size) {
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
    // The other way of a branch.
    case Opcode::s_and_not1_saveexec_b32:
    case Opcode::s_and_not1_wrexec_b32:
      if (wave_size == 64) return ExecChange::any;
      [[fallthrough]];
    case Opcode::s_and_not1_saveexec_b64:
    case Opcode::s_and_not1_wrexec_b64:
      return overwrites_exec(instruction) ? ExecChange::any : ExecChange::others;
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

// Of what the interpreter does, or another function on the Wave. What it writes may be written in part, and
// so counts as kept; it is read from the Wave again in any case.
Effects interpreted_effects(const Node& node, unsigned wave_size, unsigned vgpr_count) {
  Effects effects;
  effects.reads_all_lanes = true;
  effects.exec = ExecChange::any;
  // What it reads is known only when it is executed, or other code may follow.
  if (node.kind == NodeKind::outside || (node.instruction.row->flags & isa::kBranch)) {
    effects.reads = all_registers(vgpr_count);
    return effects;
  }
  effects.exec = ExecChange::none;
  const isa::RegisterEffects all =
      isa::register_effects(node.instruction, {.wave_size = wave_size, .vgpr_count = vgpr_count, .m0 = {}});
  for (const isa::RegisterUse& use : all.reads) add(effects.reads, use, vgpr_count);
  for (const isa::RegisterUse& use : all.writes) {
    add(effects.reads, use, vgpr_count);
    if (node.kind == NodeKind::call || node.kind == NodeKind::matrix) add(effects.reloaded, use, vgpr_count);
    if (use.has_exec() || (use.is_indexed && !use.is_vgpr())) effects.exec = ExecChange::any;
  }
  // What it may look at without naming it, STATUS among it.
  for (unsigned number : {kExec, kExec + 1, kVcc, kVcc + 1, kScc, scalar_register(isa::code::kM0)})
    effects.reads.set(number);
  return effects;
}

// Indices only count up, and what is read outside of the registers is v0 (guide 3.3.2.2). Lanes that are off
// are neither read nor written.
Effects indexed_effects(const isa::Instruction& instruction, unsigned vgpr_count) {
  Effects effects;
  const isa::Operand &destination = *instruction.find(Role::dst), &source = *instruction.find(Role::src0);
  const bool is_load = instruction.row->base == Opcode::v_movrels_b32;
  for (unsigned r = (is_load ? source : destination).vgpr(); r < vgpr_count; ++r)
    (is_load ? effects.reads : effects.reloaded).set(r);
  if (is_load) {
    effects.reads.set(0);
    effects.writes.set(destination.vgpr());
  } else if (const auto from = source_of(source, instruction); from && !from->is_constant) {
    effects.reads.set(from->first);
  }
  for (unsigned number : {kExec, kExec + 1, scalar_register(isa::code::kM0)}) effects.reads.set(number);
  return effects;
}

}  // namespace

RegisterSet exec_registers(unsigned wave_size) {
  RegisterSet exec;
  exec.set(kExec);
  if (wave_size == 64) exec.set(kExec + 1);
  return exec;
}

bool writes_exec(const Effects& effects, unsigned wave_size) {
  return effects.writes[kExec] || (wave_size == 64 && effects.writes[kExec + 1]);
}

RegisterSet vgprs_chosen_from(const Effects& effects) {
  RegisterSet all = effects.reloaded;
  for (unsigned r = 0; r < kVgprs && effects.reloaded.none(); ++r) all[r] = effects.reads[r];
  return all;
}

SourceOff source_off(const isa::Instruction& permlane) {
  if (permlane.op_sel & 1) return SourceOff::is_read;
  return permlane.op_sel & 2 ? SourceOff::gives_zero : SourceOff::keeps_lane;
}

bool reads_lanes_that_are_off(const isa::Instruction& instruction) {
  switch (instruction.row->opcode) {
    case Opcode::v_permlane64_b32:
      return true;
    case Opcode::v_permlane16_b32:
    case Opcode::v_permlanex16_b32:
      return source_off(instruction) == SourceOff::is_read;
    default:
      break;
  }
  // VINTERP: the parameters are in lanes 0 to 2 of each quad, whatever EXEC says (guide 12.8).
  return instruction.row->encoding == isa::Encoding::vinterp ||
         (instruction.dpp != isa::Dpp::none && instruction.fetch_inactive);
}

bool changes_memory(const Node& node) {
  switch (node.kind) {
    case NodeKind::atomic:
    case NodeKind::call:
    case NodeKind::indexed:  // what it stores to the Wave
      return true;
    case NodeKind::global:
    case NodeKind::scratch:
    case NodeKind::buffer:
    case NodeKind::lds:
      return isa::access_shape(node.instruction.row->opcode).kind != isa::AccessShape::Kind::load;
    default:
      return false;
  }
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
    case NodeKind::call:
    case NodeKind::matrix:
    case NodeKind::outside:
      return interpreted_effects(node, wave_size, vgpr_count);
    case NodeKind::jump:
      // What is there may read anything.
      effects = interpreted_effects(node, wave_size, vgpr_count);
      if (const isa::Operand* link = instruction.find(Role::dst)) {
        const unsigned first = scalar_register(link->code);
        effects.writes.set(first);
        effects.writes.set(first + 1);
      }
      return effects;
    case NodeKind::indexed:
      return indexed_effects(instruction, vgpr_count);
    default:
      break;
  }
  const isa::RegisterEffects all =
      isa::register_effects(instruction, {.wave_size = wave_size, .vgpr_count = vgpr_count, .m0 = {}});
  for (const isa::RegisterUse& use : all.reads) add(effects.reads, use, vgpr_count);
  for (const isa::RegisterUse& use : all.writes) {
    add(effects.writes, use, vgpr_count);
    // Something of the register stays: it is an input, too.
    if (use.is_partial && use.is_vgpr()) add(effects.reads, use, vgpr_count);
  }
  effects.reads_all_lanes = node.kind == NodeKind::lane_access || reads_lanes_that_are_off(instruction);
  if (writes_exec(effects, wave_size)) effects.exec = exec_change(node, wave_size);
  return effects;
}

std::array<HalfEffects, 2> effects_of_halves(const isa::Instruction& pair) {
  std::array<HalfEffects, 2> effects;
  const std::vector<Half> halves = halves_of(pair);
  for (size_t number = 0; number < effects.size(); ++number) {
    const Half& half = halves[number];
    auto& [reads, writes] = effects[number];
    if (half.row->implicit_reads & isa::kVcc) reads.set(kVcc);
    for (unsigned i = half.first; i < half.last; ++i) {
      const isa::Operand& operand = pair.operands[i];
      const auto source = source_of(operand, pair);
      if (!source || source->is_constant) continue;
      const bool is_result = operand.role == isa::Role::dst;
      if (is_result) writes.set(source->first);
      if (!is_result || operand.read) reads.set(source->first);
    }
  }
  return effects;
}

}  // namespace lockstep::translator
