// What translated code calls for buffers whose data have formats, and for scalar loads through buffer
// resources.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "engine/translator/runtime.h"
#include "isa/memory_shape.h"
#include "memory/buffer_resource.h"
#include "memory/formats.h"

using namespace lockstep;
using namespace lockstep::translator;

namespace {

using isa::AccessShape;

// The components of a lane's element in registers, one row of the wave's size each: one to a register, or two
// in D16 form (guide 9.3).
struct ComponentRows {
  const AccessShape& shape;
  uint32_t* rows;
  uint32_t wave_size, lane;

  uint32_t& word(unsigned i) const { return rows[i * wave_size + lane]; }
  bool is_high(unsigned i) const { return i % 2 != 0 || shape.part == isa::RegisterPart::high_half; }
  uint32_t get(unsigned i) const {
    if (!shape.d16) return word(i);
    return is_high(i) ? word(i / 2) >> 16 : word(i / 2) & 0xffff;
  }
  void set(unsigned i, uint32_t value) const {
    if (!shape.d16)
      word(i) = value;
    else if (is_high(i))
      word(i / 2) = (word(i / 2) & 0xffff) | value << 16;
    else
      word(i / 2) = (word(i / 2) & 0xffff'0000) | (value & 0xffff);
  }
};

}  // namespace

bool lockstep_translator_buffer_format(const Context* context, uint32_t slot, uint32_t form, uint32_t format,
                                       uint32_t wave_size, uint64_t resource_low, uint64_t resource_high,
                                       uint64_t displacement, uint64_t exec, const uint32_t* offsets,
                                       const uint32_t* indices, uint32_t* data) {
  const AccessShape& shape = isa::access_shape(static_cast<isa::Opcode>(form));
  const bool is_load = shape.kind == AccessShape::Kind::load, is_typed = (format & kTypedFormat) != 0;
  const memory::BufferResource resource = memory::decode_buffer_resource(
      {static_cast<uint32_t>(resource_low), static_cast<uint32_t>(resource_low >> 32),
       static_cast<uint32_t>(resource_high), static_cast<uint32_t>(resource_high >> 32)});
  const memory::DataFormat layout = memory::data_format(is_typed ? format & ~kTypedFormat : resource.format);
  const memory::Select select = is_typed ? memory::identity_select(layout) : resource.select;
  const bool is_unbound = resource.is_unbound() && !is_typed;
  const auto sgpr_offset = static_cast<uint32_t>(displacement >> 32);
  const auto access_of = [&](unsigned lane) {
    return memory::buffer_access(resource, indices ? indices[lane] : 0, offsets ? offsets[lane] : 0,
                                 static_cast<uint32_t>(displacement), lane);
  };
  const auto is_inside = [&](const memory::BufferAccess& access) {
    return !is_unbound && memory::is_in_range(resource, access, layout.bytes, sgpr_offset);
  };
  for (uint64_t lanes = exec; lanes != 0; lanes &= lanes - 1) {
    const memory::BufferAccess access = access_of(static_cast<unsigned>(std::countr_zero(lanes)));
    if (is_inside(access) && !is_allowed(context, slot, memory::buffer_address(resource, access, sgpr_offset),
                                         layout.bytes, is_load ? kRead : kWrite))
      return false;
  }
  for (uint64_t lanes = exec; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    const memory::BufferAccess access = access_of(lane);
    const bool inside = is_inside(access);
    auto* memory = reinterpret_cast<std::byte*>(memory::buffer_address(resource, access, sgpr_offset));
    const ComponentRows components{shape, data, wave_size, lane};
    memory::Components values{};
    memory::Element element{};
    if (is_load) {
      if (inside) std::memcpy(element.data(), memory, layout.bytes);
      if (!is_unbound)
        values = inside ? memory::load_element(layout, element, select, shape.d16)
                        : memory::out_of_range_element(layout, select, shape.d16);
      for (unsigned i = 0; i < shape.format_components; ++i) components.set(i, values[i]);
    } else if (inside) {
      for (unsigned i = 0; i < shape.format_components; ++i) values[i] = components.get(i);
      element = memory::store_element(layout, values, shape.format_components, select, shape.d16);
      std::memcpy(memory, element.data(), layout.bytes);
    }
  }
  return true;
}

bool lockstep_translator_scalar_buffer(const Context* context, uint32_t slot, uint64_t base, uint64_t size,
                                       uint64_t offset, uint32_t dwords, uint32_t* words) {
  for (unsigned i = 0; i < dwords; ++i) {
    words[i] = 0;
    // Each dword outside the buffer reads as zero (guide 8.4.1).
    if (offset + 4 * i >= size) continue;
    const uint64_t address = base + offset + 4 * i;
    if (!is_allowed(context, slot, address, 4, kRead)) return false;
    std::memcpy(&words[i], reinterpret_cast<const void*>(address), 4);
  }
  return true;
}
