#include "engine/translator/index_bits.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "engine/translator/classify.h"
#include "engine/translator/effects.h"
#include "engine/translator/operands.h"
#include "engine/translator/registers.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;
using isa::Role;

constexpr uint32_t kAnyBits = ~0u;
// Instructions that are looked at for one index.
constexpr unsigned kMostLooks = 256;

uint32_t low_bits(unsigned count) {
  return count >= 32 ? kAnyBits : (1u << count) - 1;
}

uint32_t sum_of(uint32_t a, uint32_t b) {
  if ((a & b) == 0) return a | b;
  const uint64_t sum = uint64_t{a} + b;
  if (sum > kAnyBits) return kAnyBits;
  return low_bits(static_cast<unsigned>(std::bit_width(sum))) & ~low_bits(std::countr_zero(a | b));
}

class Search {
 public:
  Search(const Routine& routine, const Facts& facts, unsigned first)
      : routine_(routine), facts_(facts), first_(first) {}

  uint32_t bits_of(unsigned index, unsigned vgpr) {
    const std::optional<unsigned> writer = find_writer(index, vgpr);
    return writer ? result_of(*writer, vgpr) : kAnyBits;
  }

  // The last one before it that all lanes have executed which are on there.
  std::optional<unsigned> find_writer(unsigned index, unsigned vgpr) {
    for (unsigned n = index; n-- > first_;) {
      if (looks_left_ == 0) return std::nullopt;
      --looks_left_;
      const Node& node = routine_.nodes[n];
      const Effects& effects = facts_.nodes[n].effects;
      if (effects.writes[vgpr]) return n;
      if (effects.reloaded[vgpr] || turns_lanes_on(effects.exec) || node.kind == NodeKind::step ||
          node.kind == NodeKind::outside)
        return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  uint32_t result_of(unsigned n, unsigned vgpr) {
    const Node& node = routine_.nodes[n];
    const isa::Instruction& instruction = node.instruction;
    if (node.kind == NodeKind::global) {
      const isa::AccessShape shape = isa::access_shape(instruction.row->opcode);
      const bool is_part = shape.bytes < 4 && !shape.sign_extend && shape.part == isa::RegisterPart::whole;
      return is_part ? low_bits(8u * shape.bytes) : kAnyBits;
    }
    if (node.kind != NodeKind::vector_alu && node.kind != NodeKind::dual) return kAnyBits;
    if (instruction.dpp != isa::Dpp::none || instruction.clamp || instruction.omod != 0) return kAnyBits;
    for (const Half& half : halves_of(instruction))
      for (unsigned i = half.first; i < half.last; ++i) {
        const isa::Operand& operand = instruction.operands[i];
        if (operand.role == Role::dst && operand.is_vgpr() && operand.vgpr() == vgpr && operand.words == 1)
          return result_of(n, half);
      }
    return kAnyBits;
  }

  uint32_t result_of(unsigned n, const Half& half) {
    const isa::Instruction& instruction = routine_.nodes[n].instruction;
    std::array<const isa::Operand*, 3> operands{};
    for (unsigned i = half.first; i < half.last; ++i) {
      const Role role = instruction.operands[i].role;
      if (role >= Role::src0 && role <= Role::src2)
        operands[static_cast<unsigned>(role) - static_cast<unsigned>(Role::src0)] = &instruction.operands[i];
    }
    const auto bits = [&](unsigned i) { return source_bits(n, *operands[i]); };
    const auto shifted = [&](uint32_t from, unsigned by, bool is_left) {
      const auto count = constant(n, *operands[by]);
      if (!count) return kAnyBits;
      return is_left ? from << *count % 32 : from >> *count % 32;
    };
    // Shifts leave nothing known of bits that may be any.
    const auto left = [&](unsigned i, unsigned by) { return shifted(bits(i), by, true); };
    switch (half.row->base) {
      case Opcode::v_mov_b32:
        return bits(0);
      case Opcode::v_and_b32:
        return bits(0) & bits(1);
      case Opcode::v_or_b32:
      case Opcode::v_xor_b32:
        return bits(0) | bits(1);
      case Opcode::v_or3_b32:
        return bits(0) | bits(1) | bits(2);
      case Opcode::v_and_or_b32:
        return (bits(0) & bits(1)) | bits(2);
      case Opcode::v_lshlrev_b32:
        return left(1, 0);
      case Opcode::v_lshrrev_b32:
        return shifted(bits(1), 0, false);
      case Opcode::v_lshl_or_b32:
        return left(0, 1) | bits(2);
      case Opcode::v_lshl_add_u32:
        return sum_of(left(0, 1), bits(2));
      case Opcode::v_add_nc_u32:
        return sum_of(bits(0), bits(1));
      case Opcode::v_bfe_u32: {
        const auto width = constant(n, *operands[2]);
        return width ? shifted(bits(0), 1, false) & low_bits(*width % 32) : kAnyBits;
      }
      default:
        return kAnyBits;
    }
  }

  std::optional<uint32_t> constant(unsigned n, const isa::Operand& operand) const {
    const auto source = source_of(operand, routine_.nodes[n].instruction);
    if (!source || !source->is_constant) return std::nullopt;
    return static_cast<uint32_t>(source->value);
  }

  uint32_t source_bits(unsigned n, const isa::Operand& operand) {
    if (operand.neg || operand.abs || operand.high) return kAnyBits;
    const auto source = source_of(operand, routine_.nodes[n].instruction);
    if (!source) return kAnyBits;
    if (source->is_constant) return static_cast<uint32_t>(source->value);
    return is_vgpr(source->first) ? bits_of(n, source->first) : kAnyBits;
  }

  const Routine& routine_;
  const Facts& facts_;
  const unsigned first_;
  unsigned looks_left_ = kMostLooks;
};

}  // namespace

uint32_t possible_offset_bits(const Routine& routine, const Facts& facts, unsigned first, unsigned index) {
  const isa::Instruction& instruction = routine.nodes[index].instruction;
  if (instruction.row->encoding == isa::Encoding::ds)
    return Search(routine, facts, first).bits_of(index, instruction.find(Role::addr)->vgpr());
  const GlobalOperands access = global_operands(instruction);
  const unsigned address = access.address.vgpr();
  if (access.base) return Search(routine, facts, first).bits_of(index, address);
  const auto sum = Search(routine, facts, first).find_writer(index, address);
  if (!sum) return kAnyBits;
  const isa::Instruction& adder = routine.nodes[*sum].instruction;
  if (adder.row->base != Opcode::v_add_co_u32 || adder.dpp != isa::Dpp::none) return kAnyBits;
  // The other one is the base.
  std::optional<unsigned> offset;
  for (const Role role : {Role::src0, Role::src1}) {
    const auto source = source_of(*adder.find(role), adder);
    if (!source || source->is_constant || (offset && is_vgpr(source->first))) return kAnyBits;
    if (is_vgpr(source->first)) offset = source->first;
  }
  return offset ? Search(routine, facts, first).bits_of(*sum, *offset) : kAnyBits;
}

}  // namespace lockstep::translator
