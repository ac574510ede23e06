#include "isa/memory_shape.h"

#include <array>

#include "isa/row_facts.h"
#include "isa/shape.h"

namespace lockstep::isa {
namespace {

constexpr unsigned bytes_of(Type type) {
  switch (type) {
    case Type::b8:
    case Type::u8:
    case Type::i8:
      return 1;
    default:
      return is_16_bit(type) ? 2 : 4 * words_of(type);
  }
}

bool moves_data(const Row& row) {
  switch (row.encoding) {
    case Encoding::ds:
      // Counts of waves and the ray stack are the machine's.
      return row.opcode != Opcode::ds_bvh_stack_rtn_b32 && !(row.flags & kGdsOnly);
    case Encoding::smem:
    case Encoding::flat:
    case Encoding::global:
    case Encoding::scratch:
    case Encoding::mubuf:
    case Encoding::mtbuf:
      return true;
    default:
      return false;
  }
}

const OperandSpec* find(const Row& row, Role role) {
  for (const OperandSpec& operand : row.operands)
    if (operand.role == role) return &operand;
  return nullptr;
}

// Loads to LDS have no register that would say it.
Type type_to_lds(Opcode opcode) {
  switch (opcode) {
    case Opcode::buffer_load_lds_u8:
      return Type::u8;
    case Opcode::buffer_load_lds_i8:
      return Type::i8;
    case Opcode::buffer_load_lds_u16:
      return Type::u16;
    case Opcode::buffer_load_lds_i16:
      return Type::i16;
    default:
      return Type::b32;
  }
}

AccessShape shape_of(const Row& row) {
  AccessShape shape;
  if (!moves_data(row)) return shape;
  using Kind = AccessShape::Kind;
  shape.kind = row.flags & kAtomic  ? Kind::atomic
               : row.flags & kLoad  ? Kind::load
               : row.flags & kStore ? Kind::store
                                    : Kind::none;
  if (!shape) return shape;
  const OperandSpec* data = find(row, Role::data);
  if (!data) data = find(row, Role::dst);
  const Type type = data ? data->type : type_to_lds(row.opcode);
  shape.to_lds = (row.flags & kToLds) != 0;
  if (row.flags & kFormat) {
    // The numbers of table 104 and 106: x to xyzw, loads, stores, and both again for D16.
    shape.format_components = row.number < 16 ? static_cast<uint8_t>(row.number % 4 + 1) : 1;
    shape.d16 = is_16_bit(type) || type == Type::pk_b16;
  } else {
    shape.bytes = static_cast<uint8_t>(bytes_of(type));
  }
  shape.sign_extend = shape.kind == Kind::load && (type == Type::i8 || type == Type::i16);
  // A load that keeps half of its register reads it, too.
  const bool is_half = shape.format_components ? shape.d16 && shape.format_components == 1
                                               : shape.kind == Kind::load && data && data->read;
  if (row.flags & kHighHalf)
    shape.part = RegisterPart::high_half;
  else if (is_half)
    shape.part = RegisterPart::low_half;
  if (row.flags & kTwoAddresses) {
    shape.addresses = 2;
    shape.offset_unit = static_cast<uint16_t>(shape.bytes * (row.flags & kStride64 ? 64 : 1));
  }
  shape.add_lane_id = shape.kind != Kind::atomic && row.encoding != Encoding::smem && !find(row, Role::addr);
  return shape;
}

using Shapes = std::array<AccessShape, static_cast<size_t>(Opcode::count)>;

}  // namespace

const AccessShape& access_shape(Opcode opcode) {
  static const Shapes shapes = [] {
    Shapes all;
    for (const Row& row : rows()) all[static_cast<size_t>(row.opcode)] = shape_of(row);
    return all;
  }();
  return shapes[static_cast<size_t>(opcode)];
}

}  // namespace lockstep::isa
