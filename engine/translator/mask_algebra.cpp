#include "engine/translator/mask_algebra.h"

#include <array>

#include "engine/translator/operands.h"

namespace lockstep::translator {

using isa::Opcode;
using isa::Role;

std::optional<MaskInstruction> mask_instruction(Opcode opcode, unsigned wave_size) {
  using enum MaskOperation;
  struct Row {
    Opcode narrow, wide;
    MaskInstruction instruction;
  };
  static constexpr std::array kRows = {
      Row{Opcode::s_mov_b32, Opcode::s_mov_b64, {move}},
      Row{Opcode::s_not_b32, Opcode::s_not_b64, {invert}},
      Row{Opcode::s_and_b32, Opcode::s_and_b64, {both}},
      Row{Opcode::s_or_b32, Opcode::s_or_b64, {either}},
      Row{Opcode::s_xor_b32, Opcode::s_xor_b64, {one}},
      Row{Opcode::s_and_not1_b32, Opcode::s_and_not1_b64, {first_only}},
      Row{Opcode::s_or_not1_b32, Opcode::s_or_not1_b64, {first_or_not}},
      Row{Opcode::s_and_saveexec_b32, Opcode::s_and_saveexec_b64, {both, true}},
      Row{Opcode::s_or_saveexec_b32, Opcode::s_or_saveexec_b64, {either, true}},
      Row{Opcode::s_xor_saveexec_b32, Opcode::s_xor_saveexec_b64, {one, true}},
      Row{Opcode::s_and_not1_saveexec_b32, Opcode::s_and_not1_saveexec_b64, {first_only, true}},
  };
  for (const Row& row : kRows)
    if (opcode == (wave_size == 64 ? row.wide : row.narrow)) return row.instruction;
  return std::nullopt;
}

bool result_of(MaskOperation operation, bool a, bool b) {
  switch (operation) {
    case MaskOperation::move:
      return a;
    case MaskOperation::invert:
      return !a;
    case MaskOperation::both:
      return a && b;
    case MaskOperation::either:
      return a || b;
    case MaskOperation::one:
      return a != b;
    case MaskOperation::first_only:
      return a && !b;
    case MaskOperation::first_or_not:
      return a || !b;
  }
  return false;
}

RegisterSet numbers_read(const isa::Instruction& instruction) {
  RegisterSet numbers;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.is_vgpr() || operand.type == isa::Type::mask || operand.type == isa::Type::label) continue;
    if ((operand.role == Role::dst || operand.role == Role::dst2) && !operand.read) continue;
    const auto source = source_of(operand, instruction);
    if (!source || source->is_constant) continue;
    for (unsigned word = 0; word < operand.words; ++word) numbers.set(source->first + word);
  }
  return numbers;
}

bool makes_alike_mask(const isa::Instruction& instruction, unsigned wave_size) {
  if (instruction.row->opcode != (wave_size == 64 ? isa::Opcode::s_cselect_b64 : isa::Opcode::s_cselect_b32))
    return false;
  const auto is_constant = [&](Role role) {
    const auto source = source_of(*instruction.find(role), instruction);
    return source && source->is_constant;
  };
  return are_bits_of_lanes(instruction) && is_constant(Role::src0) && is_constant(Role::src1);
}

bool are_bits_of_lanes(const isa::Instruction& instruction) {
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.role == Role::dst) {
      if (!scalar_destination(operand)) return false;
      continue;
    }
    const auto source = source_of(operand, instruction);
    if (!source) return false;
    if (!source->is_constant) continue;
    const auto low = static_cast<uint32_t>(source->value);
    if (low != 0 && low != ~0u) return false;
    if (operand.words == 2 && static_cast<uint32_t>(source->value >> 32) != low) return false;
  }
  return true;
}

}  // namespace lockstep::translator
