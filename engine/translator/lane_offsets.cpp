#include "engine/translator/lane_offsets.h"

#include <algorithm>
#include <bit>

#include "engine/translator/operands.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;
using isa::Role;
using Value = std::optional<LaneOffsets>;

constexpr unsigned kLaneBits = 4;

LaneOffsets constant(uint32_t number) {
  LaneOffsets value;
  value.zeros = number == 0 ? 32 : static_cast<unsigned>(std::countr_zero(number));
  value.constant = number;
  return value;
}

uint32_t low_bits(unsigned count) {
  return count >= 32 ? ~0u : (1u << count) - 1;
}

bool offsets_are_below(const LaneOffsets& value, unsigned bits) {
  return std::ranges::all_of(value.offsets, [&](uint32_t offset) { return (offset & ~low_bits(bits)) == 0; });
}

// Of two values' numbers so many bits are 0: those of a constant become offsets.
unsigned common_zeros(LaneOffsets& a, LaneOffsets& b) {
  const unsigned zeros = std::min(a.constant ? 32 : a.zeros, b.constant ? 32 : b.zeros);
  for (LaneOffsets* each : {&a, &b})
    if (each->constant) each->offsets.fill(*each->constant & low_bits(zeros));
  return zeros;
}

template <class Operation>
Value combined(Value a, Value b, bool is_bitwise, const Operation& operation) {
  if (!a || !b) return std::nullopt;
  if (a->constant && b->constant) return constant(operation(*a->constant, *b->constant));
  LaneOffsets result;
  result.zeros = common_zeros(*a, *b);
  // Where offsets reach into the bits of the number, there is no saying what becomes of them.
  if (is_bitwise && (!offsets_are_below(*a, result.zeros) || !offsets_are_below(*b, result.zeros)))
    return std::nullopt;
  for (unsigned lane = 0; lane < result.offsets.size(); ++lane)
    result.offsets[lane] = operation(a->offsets[lane], b->offsets[lane]);
  return result;
}

Value add(const Value& a, const Value& b) {
  return combined(a, b, false, [](uint32_t x, uint32_t y) { return x + y; });
}
Value subtract(const Value& a, const Value& b) {
  return combined(a, b, false, [](uint32_t x, uint32_t y) { return x - y; });
}
Value bit_and(const Value& a, const Value& b) {
  return combined(a, b, true, [](uint32_t x, uint32_t y) { return x & y; });
}
Value bit_or(const Value& a, const Value& b) {
  return combined(a, b, true, [](uint32_t x, uint32_t y) { return x | y; });
}
Value bit_xor(const Value& a, const Value& b) {
  return combined(a, b, true, [](uint32_t x, uint32_t y) { return x ^ y; });
}

Value multiply(Value a, Value b) {
  if (!a || !b) return std::nullopt;
  if (!b->constant) std::swap(a, b);
  if (!b->constant) {
    // Both the same in all lanes, then so is the product.
    if (!offsets_are_below(*a, 0) || !offsets_are_below(*b, 0)) return std::nullopt;
    LaneOffsets product;
    product.zeros = std::min(32u, a->zeros + b->zeros);
    return product;
  }
  if (a->constant) return constant(*a->constant * *b->constant);
  for (uint32_t& offset : a->offsets) offset *= *b->constant;
  a->zeros = std::min(32u, a->zeros + b->zeros);
  return a;
}

Value shift_left(const Value& a, const Value& by) {
  if (!by || !by->constant) return std::nullopt;
  return multiply(a, constant(1u << *by->constant % 32));
}

Value shift_right(Value a, const Value& by) {
  if (!a || !by || !by->constant || !offsets_are_below(*a, a->zeros)) return std::nullopt;
  const unsigned count = *by->constant % 32;
  if (a->constant) return constant(*a->constant >> count);
  for (uint32_t& offset : a->offsets) offset >>= count;
  a->zeros = a->zeros > count ? a->zeros - count : 0;
  return a;
}

}  // namespace

void LaneOffsetState::set_work_item_ids() {
  LaneOffsets& ids = known_[kIdRegister];
  for (unsigned lane = 0; lane < ids.offsets.size(); ++lane) ids.offsets[lane] = lane;
  ids.zeros = kLaneBits;
}

const LaneOffsets* LaneOffsetState::find(unsigned vgpr) const {
  const auto found = known_.find(vgpr);
  return found == known_.end() ? nullptr : &found->second;
}

bool LaneOffsetState::join(const LaneOffsetState& other) {
  return std::erase_if(known_, [&](const auto& each) {
           const LaneOffsets* known = other.find(each.first);
           return !known || *known != each.second;
         }) != 0;
}

std::optional<LaneOffsets> LaneOffsetState::source(const isa::Operand& operand,
                                                   const isa::Instruction& instruction) const {
  const auto source = source_of(operand, instruction);
  if (!source || operand.neg || operand.abs || operand.high) return std::nullopt;
  if (source->is_constant) return constant(static_cast<uint32_t>(source->value));
  if (!is_vgpr(source->first)) return LaneOffsets{};
  const LaneOffsets* known = find(source->first);
  return known ? Value(*known) : std::nullopt;
}

// Of the lowest word that it writes.
std::optional<LaneOffsets> LaneOffsetState::result_of(const isa::Instruction& instruction,
                                                      const Half& half) const {
  if (instruction.dpp != isa::Dpp::none || instruction.clamp || instruction.omod != 0) return std::nullopt;
  std::array<Value, 3> sources;
  for (unsigned i = half.first; i < half.last; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.role >= Role::src0 && operand.role <= Role::src2)
      sources[static_cast<unsigned>(operand.role) - static_cast<unsigned>(Role::src0)] =
          source(operand, instruction);
  }
  const auto& [a, b, c] = sources;
  switch (half.row->base) {
    case Opcode::v_mov_b32:
      return a;
    case Opcode::v_add_nc_u32:
    case Opcode::v_add_co_u32:
      return add(a, b);
    case Opcode::v_sub_nc_u32:
      return subtract(a, b);
    case Opcode::v_subrev_nc_u32:
      return subtract(b, a);
    case Opcode::v_add3_u32:
      return add(add(a, b), c);
    case Opcode::v_lshlrev_b32:
      return shift_left(b, a);
    case Opcode::v_lshrrev_b32:
      return shift_right(b, a);
    case Opcode::v_lshl_add_u32:
      return add(shift_left(a, b), c);
    case Opcode::v_add_lshl_u32:
      return shift_left(add(a, b), c);
    case Opcode::v_lshl_or_b32:
      return bit_or(shift_left(a, b), c);
    case Opcode::v_and_b32:
      return bit_and(a, b);
    case Opcode::v_or_b32:
      return bit_or(a, b);
    case Opcode::v_xor_b32:
      return bit_xor(a, b);
    case Opcode::v_or3_b32:
      return bit_or(bit_or(a, b), c);
    case Opcode::v_and_or_b32:
      return bit_or(bit_and(a, b), c);
    case Opcode::v_xad_u32:
      return add(bit_xor(a, b), c);
    case Opcode::v_mul_lo_u32:
    case Opcode::v_mul_u32_u24:
      return multiply(a, b);
    case Opcode::v_mad_u32_u24:
    case Opcode::v_mad_u64_u32:
      return add(multiply(a, b), c);
    case Opcode::v_bfe_u32:
      if (!c || !c->constant) return std::nullopt;
      return bit_and(shift_right(a, b), constant(low_bits(*c->constant % 32)));
    default:
      return std::nullopt;
  }
}

void LaneOffsetState::step(const Node& node, const RegisterSet& changed) {
  std::map<unsigned, LaneOffsets> written;
  if (node.kind == NodeKind::vector_alu || node.kind == NodeKind::dual)
    for (const Half& half : halves_of(node.instruction))
      if (const Value result = result_of(node.instruction, half))
        for (unsigned i = half.first; i < half.last; ++i) {
          const isa::Operand& operand = node.instruction.operands[i];
          if (operand.role == Role::dst && operand.is_vgpr()) written[operand.vgpr()] = *result;
        }
  std::erase_if(known_, [&](const auto& each) { return changed[each.first]; });
  if (node.kind == NodeKind::step || node.kind == NodeKind::outside) known_.clear();
  for (const auto& [number, value] : written) known_[number] = value;
}

}  // namespace lockstep::translator
