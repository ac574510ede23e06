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

// What M0 adds to the number of the destination and of the source (guide 7.8, 16.3).
struct Indices {
  uint32_t destination = 0, source = 0;
};

Indices indices_of(const isa::Instruction& instruction, uint32_t m0) {
  using isa::Opcode;
  switch (instruction.row->opcode) {
    case Opcode::s_movrels_b32:
    case Opcode::v_movrels_b32:
      return {0, m0};
    case Opcode::s_movrels_b64:
      return {0, m0 & ~1u};
    case Opcode::s_movreld_b32:
    case Opcode::v_movreld_b32:
      return {m0, 0};
    case Opcode::s_movreld_b64:
      return {m0 & ~1u, 0};
    case Opcode::v_movrelsd_b32:
      return {m0, m0};
    case Opcode::s_movrelsd_2_b32:
    case Opcode::v_movrelsd_2_b32:
    case Opcode::v_swaprel_b32:
      return {m0 >> 16 & 0x3ff, m0 & 0x3ff};
    default:
      return {};
  }
}

// The range so many registers further; if the wave has none there, it is the first register that is read, and
// nothing that is written (guide 3.3.1.4, 3.3.2.2).
void move(std::vector<RegisterRange>& list, RegisterRange named, uint32_t index, bool is_written,
          const Wave& wave) {
  const uint64_t first = uint64_t{named.first} + index;
  const unsigned end = named.is_vgpr() ? isa::code::kVgpr0 + wave.vgpr_count : kScalarTtmp0;
  const uint16_t zero = named.is_vgpr() ? isa::code::kVgpr0 : 0;
  const bool is_there = first + named.count <= end;
  std::erase_if(list, [&](const RegisterRange& range) { return range.first == named.first; });
  if (is_there || !is_written) list.push_back({is_there ? static_cast<uint16_t>(first) : zero, named.count});
}

}  // namespace

std::string name(const RegisterRange& range) {
  const unsigned code = range.first;
  const bool is_pair = range.count == 2;
  switch (code) {
    case isa::code::kVccLo:
      return is_pair ? "vcc" : "vcc_lo";
    case isa::code::kVccHi:
      return "vcc_hi";
    case isa::code::kM0:
      return "m0";
    case isa::code::kExecLo:
      return is_pair ? "exec" : "exec_lo";
    case isa::code::kExecHi:
      return "exec_hi";
    default:
      break;
  }
  const char* const file = range.is_vgpr() ? "v" : code >= isa::code::kTtmp0 ? "ttmp" : "s";
  const unsigned first = code - (range.is_vgpr()             ? isa::code::kVgpr0
                                 : code >= isa::code::kTtmp0 ? isa::code::kTtmp0
                                                             : 0);
  if (range.count == 1) return file + std::to_string(first);
  return file + ("[" + std::to_string(first) + ":" + std::to_string(first + range.count - 1) + "]");
}

Touched touched_now(const isa::Instruction& instruction, const Wave& wave) {
  Touched touched = touched_by(instruction, wave.wave_size);
  const Indices indices = indices_of(instruction, wave.scalar[isa::code::kM0]);
  if (indices.destination == 0 && indices.source == 0) return touched;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    const uint32_t index = operand.role == isa::Role::dst ? indices.destination : indices.source;
    if (index == 0 || !is_register(operand)) continue;
    const RegisterRange range{operand.code, operand.words};
    if (operand.read) move(touched.reads, range, index, false, wave);
    if (operand.written) move(touched.writes, range, index, true, wave);
  }
  return touched;
}

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
