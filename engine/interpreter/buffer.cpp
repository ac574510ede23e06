// MUBUF and MTBUF: buffer loads, stores and atomics (guide chapter 9). Lane by lane: what compilers use most
// goes through GLOBAL instructions, and each lane has its own range check anyway.
#include <array>
#include <bit>
#include <optional>

#include "engine/interpreter/atomic_access.h"
#include "engine/interpreter/common.h"
#include "engine/interpreter/lane_access.h"
#include "engine/interpreter/lane_address.h"
#include "engine/interpreter/registration.h"
#include "memory/access_modes.h"
#include "memory/buffer_resource.h"
#include "memory/formats.h"
#include "memory/whole_access.h"
#include "numeric/float_mode.h"

namespace lockstep::interpreter {
namespace {

using isa::AccessShape;
using isa::RegisterPart;
using memory::BufferAccess;
using memory::BufferResource;
using semantics::AtomicOperation;

// One lane's trip to memory failed on a range of the guest, or on the alignment that it must have: what the
// fault needs.
struct Refusal {
  uint64_t address;
  uint32_t bytes;
  uint32_t alignment = 1;
};

// Aligns the address, or refuses it (guide 9.5).
bool align(const Wave* wave, uint64_t* address, uint32_t bytes, uint32_t alignment, Refusal* refusal) {
  if (*address % alignment == 0) return true;
  if (memory::is_strict(context_of(wave)->modes.alignment)) {
    *refusal = {*address, bytes, alignment};
    return false;
  }
  *address -= *address % alignment;
  return true;
}

bool read_memory(const Operation* op, Wave* wave, uint64_t address, uint32_t bytes, void* to,
                 Refusal* refusal) {
  const std::byte* from = readable(op, wave, address, bytes);
  if (!from) {
    *refusal = {address, bytes};
    return false;
  }
  copy_part(to, from, bytes);
  return true;
}
bool write_memory(const Operation* op, Wave* wave, uint64_t address, uint32_t bytes, const void* from,
                  Refusal* refusal) {
  std::byte* to = writable(op, wave, address, bytes);
  if (!to) {
    *refusal = {address, bytes};
    return false;
  }
  copy_part(to, from, bytes);
  return true;
}

// Plain accesses are checked dword by dword: what is out of range reads 0 and is not written (guide 9.4.1).
// Two or four of them side by side are moved as one (whole_access.h).
template <bool is_load>
bool move_plain(const Operation* op, Wave* wave, const BufferResource& resource, BufferAccess access,
                uint32_t sgpr_offset, unsigned bytes, std::byte* data, Refusal* refusal) {
  const memory::AlignmentMode mode = context_of(wave)->modes.alignment;
  std::array<std::optional<uint64_t>, 4> places;
  for (unsigned at = 0; at < bytes; at += 4) {
    const unsigned part = std::min(4u, bytes - at);
    // The first part's address is that of the whole.
    const uint32_t alignment = memory::memory_alignment(mode, at == 0 ? bytes : part);
    BufferAccess of_part = access;
    of_part.offset += at;
    if (!memory::is_in_range(resource, of_part, part, sgpr_offset)) continue;
    uint64_t address = memory::buffer_address(resource, of_part, sgpr_offset);
    if (!align(wave, &address, bytes, alignment, refusal)) return false;
    places[at / 4] = address;
  }
  for (unsigned at = 0, part = 0; at < bytes; at += part) {
    const auto place = places[at / 4];
    part = place
               ? bytes_of_part(bytes - at, *place, [&](unsigned behind) { return places[(at + behind) / 4]; })
               : 4;
    if (place && !(is_load ? read_memory(op, wave, *place, part, data + at, refusal)
                           : write_memory(op, wave, *place, part, data + at, refusal)))
      return false;
  }
  return true;
}

memory::DataFormat format_of(const Operation* op, const BufferResource& resource) {
  const bool typed = op->instruction->row->encoding == isa::Encoding::mtbuf;
  return memory::data_format(typed ? op->instruction->format : resource.format);
}

// The components of a format access in registers: one each, or two to a register in D16 form.
uint32_t component(Wave* wave, uint32_t source, unsigned lane, const AccessShape& shape, unsigned i) {
  if (!shape.d16) return vgpr_lanes(wave, source + i * wave->register_bytes)[lane];
  const uint32_t word = vgpr_lanes(wave, source + i / 2 * wave->register_bytes)[lane];
  return i % 2 || shape.part == RegisterPart::high_half ? word >> 16 : word & 0xffff;
}
void set_component(Wave* wave, uint32_t destination, unsigned lane, const AccessShape& shape, unsigned i,
                   uint32_t value) {
  if (!shape.d16) {
    vgpr_lanes(wave, destination + i * wave->register_bytes)[lane] = value;
    return;
  }
  uint32_t& word = vgpr_lanes(wave, destination + i / 2 * wave->register_bytes)[lane];
  word = i % 2 || shape.part == RegisterPart::high_half ? (word & 0xffffu) | value << 16
                                                        : (word & 0xffff0000u) | (value & 0xffffu);
}

void store_in_lds(const Operation* op, Wave* wave, unsigned lane, uint32_t value) {
  const uint32_t at = BufferAddress::in_lds(op, wave, lane);
  if (in_lds(wave, at, 4)) __builtin_memcpy(wave->lds + at, &value, 4);
}

bool move_formatted(const Operation* op, Wave* wave, const BufferResource& resource, BufferAccess access,
                    uint32_t sgpr_offset, const AccessShape& shape, unsigned lane, Refusal* refusal) {
  const memory::DataFormat format = format_of(op, resource);
  const bool typed = op->instruction->row->encoding == isa::Encoding::mtbuf;
  const memory::Select select = typed ? memory::identity_select(format) : resource.select;
  const bool in_range = memory::is_in_range(resource, access, format.bytes, sgpr_offset);
  uint64_t address = memory::buffer_address(resource, access, sgpr_offset);
  if (in_range && !align(wave, &address, format.bytes,
                         memory::format_alignment(context_of(wave)->modes.alignment, format.bytes), refusal))
    return false;
  memory::Element element{};
  if (shape.kind == AccessShape::Kind::load) {
    if (in_range && !read_memory(op, wave, address, format.bytes, element.data(), refusal)) return false;
    const memory::Components components = in_range ? memory::load_element(format, element, select, shape.d16)
                                                   : memory::out_of_range_element(format, select, shape.d16);
    if (shape.to_lds) {
      store_in_lds(op, wave, lane, components[0]);
      return true;
    }
    for (unsigned i = 0; i < shape.format_components; ++i)
      set_component(wave, op->dst, lane, shape, i, components[i]);
    return true;
  }
  if (!in_range) return true;
  memory::Components components{};
  for (unsigned i = 0; i < shape.format_components; ++i)
    components[i] = component(wave, op->source[1], lane, shape, i);
  element = memory::store_element(format, components, shape.format_components, select, shape.d16);
  return write_memory(op, wave, address, format.bytes, element.data(), refusal);
}

void buffer_access(const Operation* op, Wave* wave, int64_t budget) {
  const AccessShape shape = isa::access_shape(op->instruction->row->opcode);
  const bool is_load = shape.kind == AccessShape::Kind::load;
  const BufferAddress address(op, wave);
  const BufferResource& resource = address.resource;
  const uint32_t sgpr_offset = address.sgpr_offset;
  const bool typed = op->instruction->row->encoding == isa::Encoding::mtbuf;
  const bool unbound = resource.is_unbound() && !typed;
  for (uint64_t lanes = wave->exec(); lanes != 0; lanes &= lanes - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
    const BufferAccess access = address.of_lane(op, wave, lane);
    Refusal refusal{};
    bool done = true;
    if (shape.format_components != 0) {
      if (!unbound) {
        done = move_formatted(op, wave, resource, access, sgpr_offset, shape, lane, &refusal);
      } else if (is_load && shape.to_lds) {
        store_in_lds(op, wave, lane, 0);
      } else if (is_load) {
        for (unsigned i = 0; i < shape.format_components; ++i)
          set_component(wave, op->dst, lane, shape, i, 0);
      }
    } else if (is_load) {
      uint32_t words[4] = {};
      if (!unbound)
        done = move_plain<true>(op, wave, resource, access, sgpr_offset, shape.bytes,
                                reinterpret_cast<std::byte*>(words), &refusal);
      if (done && shape.to_lds) {
        uint32_t value = words[0];
        if (shape.sign_extend)
          value = static_cast<uint32_t>(shape.bytes == 1 ? int32_t{static_cast<int8_t>(value)}
                                                         : int32_t{static_cast<int16_t>(value)});
        store_in_lds(op, wave, lane, value);
      } else if (done) {
        place_loaded(wave, op->dst, lane, shape, words);
      }
    } else if (!unbound) {
      uint32_t words[4];
      take_stored(wave, op->source[1], lane, shape, words);
      done = move_plain<false>(op, wave, resource, access, sgpr_offset, shape.bytes,
                               reinterpret_cast<std::byte*>(words), &refusal);
    }
    if (!done && refusal.alignment != 1)
      return raise_misaligned_access(op, wave, budget, static_cast<int>(lane), refusal.address, refusal.bytes,
                                     refusal.alignment);
    if (!done)
      return raise_memory_violation(op, wave, budget, static_cast<int>(lane), refusal.address, refusal.bytes,
                                    is_load ? kRead : kWrite);
    // TFE adds a status register: 0, as every page here is resident (guide 10.1.1).
    if (op->instruction->tfe && is_load && !shape.to_lds)
      vgpr_lanes(wave, op->dst + shape.registers() * wave->register_bytes)[lane] = 0;
  }
  LOCKSTEP_NEXT();
}

template <class T>
void buffer_atomic(const Operation* op, Wave* wave, int64_t budget) {
  const semantics::AtomicShape shape = semantics::atomic_shape(op->instruction->row->opcode);
  const RuntimeFloatMode mode{wave->mode};
  const auto flush =
      semantics::atomic_flush(shape.operation, false, mode.denorm_in_f32(), mode.denorm_out_f32());
  const BufferAddress address(op, wave);
  const BufferResource& resource = address.resource;
  const uint32_t sgpr_offset = address.sgpr_offset;
  const bool returns = op->instruction->glc;
  for (uint64_t lanes = wave->exec(); lanes != 0; lanes &= lanes - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
    const BufferAccess access = address.of_lane(op, wave, lane);
    T old = 0;
    if (!resource.is_unbound() && memory::is_in_range(resource, access, sizeof(T), sgpr_offset)) {
      const uint64_t at = memory::buffer_address(resource, access, sgpr_offset);
      if (at % sizeof(T) != 0)
        return raise_misaligned(op, wave, budget, static_cast<int>(lane), at, sizeof(T));
      std::byte* memory = modifiable(op, wave, at, sizeof(T));
      if (!memory)
        return raise_memory_violation(op, wave, budget, static_cast<int>(lane), at, sizeof(T), kWrite);
      const T data = register_value<T>(wave, op->source[1], lane);
      const T second = register_value<T>(wave, op->source[1] + sizeof(T) / 4 * wave->register_bytes, lane);
      old = exchange_in_memory<T>(shape.operation, memory, data, second, flush);
    }
    if (returns) set_register<T>(wave, op->source[1], lane, old);
  }
  LOCKSTEP_NEXT();
}

}  // namespace

void LOCKSTEP_REGISTER(buffer)(HandlerTable& table) {
  for (const isa::Row& row : isa::rows()) {
    if (row.encoding != isa::Encoding::mubuf && row.encoding != isa::Encoding::mtbuf) continue;
    Handler& entry = table.other[static_cast<size_t>(row.opcode)];
    if (isa::access_shape(row.opcode)) entry = &buffer_access;
    if (const auto shape = semantics::atomic_shape(row.opcode))
      entry = shape.bytes == 8 ? &buffer_atomic<uint64_t> : &buffer_atomic<uint32_t>;
  }
}

}  // namespace lockstep::interpreter
