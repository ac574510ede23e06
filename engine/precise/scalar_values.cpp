#include "engine/precise/scalar_values.h"

#include <algorithm>

#include "isa/effects.h"

namespace lockstep::precise {

namespace {

using isa::Type;

uint8_t bytes_of(const isa::Operand& operand) {
  switch (operand.type) {
    case Type::b16:
    case Type::u16:
    case Type::i16:
    case Type::f16:
    case Type::bf16:
      return 2;
    default:
      return static_cast<uint8_t>(4 * operand.words);
  }
}

// Inline constants are free, and NULL reads as one.
bool is_scalar_value(uint16_t code) {
  if (code < isa::code::kInt0) return code != isa::code::kNull;
  return code == isa::code::kScc || code == isa::code::kLiteral;
}

std::string name_of(const ScalarValue& value) {
  if (value.code == isa::code::kLiteral) return "the literal";
  if (value.code == isa::code::kScc) return "scc";
  return name(isa::RegisterRange{value.code, static_cast<uint16_t>(value.bytes == 8 ? 2 : 1)});
}

}  // namespace

ScalarValues ScalarValues::different() const {
  ScalarValues result;
  for (const ScalarValue& value : list_) {
    const bool is_known =
        std::any_of(result.list_.begin(), result.list_.end(), [&](const ScalarValue& other) {
          const bool same_size = value.code != isa::code::kLiteral || value.bytes == other.bytes;
          return value.code == other.code && value.is_mask == other.is_mask && same_size;
        });
    if (!is_known) result.add(value);
  }
  return result;
}

std::string ScalarValues::text() const {
  std::string text;
  for (size_t i = 0; i < list_.size(); ++i)
    text += (i == 0 ? "" : i + 1 == list_.size() ? " and " : ", ") + name_of(list_[i]);
  return text;
}

ScalarValues scalar_values(const isa::Instruction& instruction, unsigned first, unsigned last,
                           unsigned wave_size) {
  ScalarValues values;
  const bool has_passes = wave_size == 64;
  for (unsigned i = first; i < last; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (!operand.read || !is_scalar_value(operand.code)) continue;
    values.add({operand.code, bytes_of(operand), has_passes && operand.type == Type::mask});
  }
  if (instruction.row->implicit_reads & isa::kVcc)
    values.add({isa::code::kVccLo, static_cast<uint8_t>(wave_size / 8), has_passes});
  return values;
}

}  // namespace lockstep::precise
