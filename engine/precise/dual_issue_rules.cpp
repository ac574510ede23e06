#include "engine/precise/dual_issue_rules.h"

#include <array>

#include "engine/precise/scalar_values.h"

namespace lockstep::precise {

namespace {

using isa::Opcode;
using isa::Role;

constexpr unsigned kBanks = 4;

struct Half {
  const isa::Row& row;
  unsigned first, last;  // of its operands
};

// The read port through which an operand of a half comes from its bank's cache. FMAMK reads its second VGPR
// through the third port, accumulating instructions their destination.
constexpr unsigned kNoPort = 3;
unsigned port_of(const isa::Operand& operand, const isa::Row& row) {
  if (!operand.is_vgpr() || !operand.read) return kNoPort;
  switch (operand.role) {
    case Role::src0:
      return 0;
    case Role::src1:
      return row.base == Opcode::v_fmamk_f32 ? 2 : 1;
    case Role::src2:
    case Role::dst:
      return 2;
    default:
      return kNoPort;
  }
}

const isa::Operand* at_port(const isa::Instruction& instruction, const Half& half, unsigned port) {
  for (unsigned i = half.first; i < half.last; ++i)
    if (port_of(instruction.operands[i], half.row) == port) return &instruction.operands[i];
  return nullptr;
}

std::string name_of(const isa::Operand& operand) {
  return "v" + std::to_string(operand.vgpr());
}

// Two VGPRs of one bank are no conflict if they are read through different ports. Through the third, one must
// be even and the other odd.
std::string broken_port_rule(const isa::Instruction& instruction, const Half& x, const Half& y) {
  static constexpr std::array<unsigned, 3> kClasses = {kBanks, kBanks, 2};
  for (unsigned port = 0; port < kClasses.size(); ++port) {
    const isa::Operand *a = at_port(instruction, x, port), *b = at_port(instruction, y, port);
    if (!a || !b || a->vgpr() % kClasses[port] != b->vgpr() % kClasses[port]) continue;
    const std::string both = " both halves of " + std::string(x.row.name) + " :: " + std::string(y.row.name) +
                             " read source " + std::to_string(port) + " from ";
    if (port == 2)
      return "VOPD:" + both + (a->vgpr() % 2 ? "an odd VGPR, " : "an even VGPR, ") + name_of(*a) + " and " +
             name_of(*b) + " (guide 7.6): one must be even and the other odd";
    return "VOPD:" + both + "VGPR bank " + std::to_string(a->vgpr() % kBanks) + ", " + name_of(*a) + " and " +
           name_of(*b) + " (guide 7.6): their numbers must differ in the two low bits";
  }
  return {};
}

unsigned count_registers(const ScalarValues& values) {
  unsigned count = 0;
  for (const ScalarValue& value : values.list()) count += value.code != isa::code::kLiteral;
  return count;
}

Half x_of(const isa::Instruction& instruction) {
  return {*instruction.row, 0, instruction.first_y_operand};
}
Half y_of(const isa::Instruction& instruction) {
  return {*instruction.row_y, instruction.first_y_operand, instruction.operand_count};
}

std::string broken_scalar_rule(const isa::Instruction& instruction, unsigned wave_size) {
  const ScalarValues all = scalar_values(instruction, 0, instruction.operand_count, wave_size).different();
  if (all.count() > 2)
    return "VOPD: the two halves read " + all.text() +
           " (guide 7.6): together they may use two SGPRs, or one SGPR and one literal";
  return {};
}

}  // namespace

std::string broken_dual_issue_rule(const isa::Instruction& instruction, unsigned wave_size) {
  if (wave_size == 64)
    return "VOPD in a wave of 64 (guide 7.6), which skips it: compile for wave32, or write two instructions";
  if (std::string text = broken_port_rule(instruction, x_of(instruction), y_of(instruction)); !text.empty())
    return text;
  return broken_scalar_rule(instruction, wave_size);
}

std::string doubted_dual_issue_rule(const isa::Instruction& instruction, unsigned wave_size) {
  if (wave_size != 32) return {};
  for (const Half& half : {x_of(instruction), y_of(instruction)}) {
    const ScalarValues read = scalar_values(instruction, half.first, half.last, wave_size).different();
    if (count_registers(read) > 1)
      return "VOPD: " + std::string(half.row.name) + " reads " + read.text() +
             " (guide 7.6): each half may use one SGPR, and VCC counts as one";
  }
  return {};
}

}  // namespace lockstep::precise
