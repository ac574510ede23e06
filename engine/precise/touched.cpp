#include "engine/precise/touched.h"

#include "isa/effects.h"

namespace lockstep::precise {

namespace {

bool is_register(const isa::Operand& operand) {
  if (operand.role == isa::Role::simm || operand.role == isa::Role::none) return false;
  switch (operand.type) {
    case isa::Type::imm:
    case isa::Type::label:
    case isa::Type::hwreg:
      return false;
    default:
      return operand.is_vgpr() || (operand.code < isa::code::kInt0 && operand.code != isa::code::kNull);
  }
}

void add_implied(std::vector<RegisterRange>& list, uint32_t implied, unsigned wave_size) {
  const uint16_t mask = wave_size / 32;
  if (implied & isa::kExec) list.push_back({isa::code::kExecLo, mask});
  if (implied & isa::kVcc) list.push_back({isa::code::kVccLo, mask});
  if (implied & isa::kM0) list.push_back({isa::code::kM0, 1});
}

}  // namespace

Touched touched_by(const isa::Instruction& instruction, unsigned wave_size) {
  Touched touched;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (!is_register(operand)) continue;
    const RegisterRange range{operand.code, operand.words};
    if (operand.read) touched.reads.push_back(range);
    if (operand.written) touched.writes.push_back(range);
  }
  add_implied(touched.reads, isa::implicit_reads(instruction), wave_size);
  add_implied(touched.writes, isa::implicit_writes(instruction), wave_size);
  if (instruction.row_y) {
    add_implied(touched.reads, instruction.row_y->implicit_reads, wave_size);
    add_implied(touched.writes, instruction.row_y->implicit_writes, wave_size);
  }
  return touched;
}

}  // namespace lockstep::precise
