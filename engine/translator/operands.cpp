#include "engine/translator/operands.h"

#include "engine/scalar_operand.h"
#include "engine/translator/registers.h"
#include "isa/effects.h"

namespace lockstep::translator {
namespace {

namespace code = isa::code;

// Inline constants have one home: the slots that state/ fills in every wave.
const Wave& constants() {
  static const Wave wave = [] {
    Wave result;
    initialise_wave(result, 32, nullptr);
    return result;
  }();
  return wave;
}

Source constant(uint64_t value) {
  return {.is_constant = true, .value = value};
}

}  // namespace

std::optional<Source> source_of(const isa::Operand& operand, const isa::Instruction& instruction) {
  const unsigned number = operand.code;
  if (operand.is_literal()) return constant(isa::widen_literal(instruction.literal, operand.type));
  if (operand.role == isa::Role::simm) return constant(static_cast<uint64_t>(operand.value));
  if (operand.is_vgpr()) return Source{.first = operand.vgpr()};
  if (number == code::kNull) return constant(0);
  const bool wide = isa::is_64_bit(operand.type);
  // Masks of wave64 that are no even pair are the interpreter's (classify).
  const unsigned slot = scalar_slot(operand, constants().wave_size);
  if (number < code::kInt0) return Source{.first = scalar_register(slot)};
  if (number == code::kScc && !wide) return Source{.first = kScc};
  const bool is_integer = number <= code::kIntNegativeLast;
  const bool is_aperture = number >= code::kSharedBase && number <= code::kPrivateLimit;
  if (!is_integer && !is_float_constant(operand.code) && !is_aperture) return std::nullopt;
  return constant(wide ? constants().scalar64(slot) : constants().scalar[slot]);
}

std::optional<unsigned> scalar_destination(const isa::Operand& operand) {
  if (isa::is_foreign_trap_temporary(operand, false) || operand.code == code::kNull) return std::nullopt;
  return scalar_register(operand.code);
}

GlobalOperands global_operands(const isa::Instruction& instruction) {
  const isa::AccessShape shape = isa::access_shape(instruction.row->opcode);
  const isa::Operand* base = instruction.find(isa::Role::saddr);
  if (base && base->code == code::kNull) base = nullptr;
  const bool is_load = shape.kind == isa::AccessShape::Kind::load;
  const isa::Operand* data = instruction.find(is_load ? isa::Role::dst : isa::Role::data);
  return {shape, *instruction.find(isa::Role::addr), base, data->vgpr()};
}

BufferAddress buffer_address(const isa::Instruction& instruction) {
  BufferAddress address;
  if (!instruction.idxen && !instruction.offen) return address;
  unsigned next = instruction.find(isa::Role::addr)->vgpr();
  if (instruction.idxen) address.index = next++;
  if (instruction.offen) address.offset = next;
  return address;
}

std::optional<uint32_t> constant_scratch_offset(const isa::Instruction& instruction) {
  const isa::Operand* address = instruction.find(isa::Role::addr);
  const isa::Operand* scalar_offset = instruction.find(isa::Role::saddr);
  if ((address && address->is_vgpr()) || (scalar_offset && scalar_offset->code != isa::code::kNull))
    return std::nullopt;
  if (instruction.offset < 0 || instruction.offset % 4 != 0) return std::nullopt;
  if (isa::access_shape(instruction.row->opcode).bytes < 4) return std::nullopt;
  return static_cast<uint32_t>(instruction.offset);
}

}  // namespace lockstep::translator
