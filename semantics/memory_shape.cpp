#include "semantics/memory_shape.h"

#include <array>
#include <string_view>

namespace lockstep::semantics {
namespace {

using isa::Type;

// By the mnemonic without what stands before and behind it; images name the sign, others have a type.
struct Operations {
  std::string_view name;
  AtomicOperation bits, as_signed, as_float;
};
using enum AtomicOperation;
constexpr Operations kOperations[] = {
    {"swap", swap, swap, swap},
    {"storexchg", swap, swap, swap},
    {"storexchg_2addr", swap, swap, swap},
    {"storexchg_2addr_stride64", swap, swap, swap},
    {"cmpswap", cmpswap, cmpswap, fcmpswap},
    {"cmpstore", cmpswap, cmpswap, fcmpswap},
    {"add", add, add, fadd},
    {"sub", sub, sub, none},
    {"rsub", rsub, rsub, none},
    {"csub", csub, csub, none},
    {"min", umin, smin, fmin},
    {"max", umax, smax, fmax},
    {"smin", smin, smin, none},
    {"umin", umin, umin, none},
    {"smax", smax, smax, none},
    {"umax", umax, umax, none},
    {"and", and_, and_, none},
    {"or", or_, or_, none},
    {"xor", xor_, xor_, none},
    {"mskor", mskor, mskor, none},
    {"inc", inc, inc, none},
    {"dec", dec, dec, none},
    {"wrap", wrap, wrap, none},
    {"condxchg32", condxchg32, condxchg32, none},
    {"append", append, append, none},
    {"consume", consume, consume, none},
};

// "ds_min_rtn_i32", "buffer_atomic_min_i32", "image_atomic_smin": the part that names the operation.
std::string_view stem(const isa::Row& row) {
  std::string_view name = row.name;
  constexpr std::string_view kAtomic = "atomic_";
  if (const size_t at = name.find(kAtomic); at != name.npos)
    name.remove_prefix(at + kAtomic.size());
  else
    name.remove_prefix(std::string_view("ds_").size());
  const size_t last = name.rfind('_');
  const bool has_type = last != name.npos && (name.ends_with("32") || name.ends_with("64"));
  if (has_type && name.substr(last + 1).size() == 3) name = name.substr(0, last);
  if (name.ends_with("_rtn")) name.remove_suffix(4);
  return name;
}

AtomicShape shape_of(const isa::Row& row) {
  AtomicShape shape;
  const isa::AccessShape& access = isa::access_shape(row.opcode);
  const bool is_image = row.encoding == isa::Encoding::mimg;
  if (!(row.flags & isa::kAtomic) || !(is_image || access)) return shape;
  const Type type =
      row.operands.front().role == isa::Role::addr ? row.operands[1].type : row.operands[0].type;
  for (const Operations& each : kOperations)
    if (each.name == stem(row))
      shape.operation = type == Type::f32 || type == Type::f64   ? each.as_float
                        : type == Type::i32 || type == Type::i64 ? each.as_signed
                                                                 : each.bits;
  if (!shape) return shape;
  shape.bytes = is_image ? 0 : access.bytes;
  // GLC must be set in a CSUB (guide 9.1): the old value comes back in any case.
  if (row.encoding == isa::Encoding::ds)
    shape.old_value = row.flags & isa::kReturnsData ? OldValue::returned : OldValue::not_returned;
  else
    shape.old_value = shape.operation == csub ? OldValue::returned : OldValue::returned_if_glc;
  shape.addresses = access.addresses;
  shape.offset_unit = access.offset_unit;
  return shape;
}

}  // namespace

const AtomicShape& atomic_shape(isa::Opcode opcode) {
  static const auto shapes = [] {
    std::array<AtomicShape, static_cast<size_t>(isa::Opcode::count)> all;
    for (const isa::Row& row : isa::rows()) all[static_cast<size_t>(row.opcode)] = shape_of(row);
    return all;
  }();
  return shapes[static_cast<size_t>(opcode)];
}

}  // namespace lockstep::semantics
