// The buffer resource (V#) and the addresses and range checks that follow from it (guide 9.4, 9.6, 8.1.2),
// one lane at a time. Offsets are kept in 64 bits, so a sum that passes 2^32 is out of range rather than
// wrapped.
#pragma once

#include <array>
#include <cstdint>

namespace lockstep::memory {

enum class OutOfBounds : uint8_t {
  structured = 0,  // index and offset inside the record
  index_only = 1,
  unchecked = 2,  // unless the buffer is empty
  raw = 3,        // bytes from the base
};

struct BufferResource {
  uint64_t base = 0;
  uint32_t stride = 0;
  uint32_t element_size = 0;  // of swizzled addressing: 4 or 16 bytes; 0: linear
  uint32_t records = 0;
  std::array<uint8_t, 4>
      select{};  // DST_SEL of x, y, z, w: 0, 1, or 4 to 7 for the memory components r, g, b, a
  uint8_t format = 0;
  uint32_t index_stride = 8;  // of swizzled addressing
  bool add_thread_id = false;
  OutOfBounds out_of_bounds = OutOfBounds::structured;
  uint8_t type = 0;       // 0 for a buffer: instructions ignore resources of other types
  bool reserved = false;  // a field holds a reserved value: SWIZZLE_ENABLE 2, DST_SEL 2 or 3

  // Loads return 0 and stores are dropped (guide 9.6, "Unbound Resources"; MTBUF brings its own format).
  constexpr bool is_unbound() const { return format == 0 && !add_thread_id; }
};

constexpr BufferResource decode_buffer_resource(const std::array<uint32_t, 4>& words) {
  BufferResource resource;
  resource.base = words[0] | uint64_t{words[1] & 0xffff} << 32;
  resource.stride = words[1] >> 16 & 0x3fff;
  const unsigned swizzle = words[1] >> 30;
  resource.element_size = swizzle == 1 ? 4 : swizzle == 3 ? 16 : 0;
  resource.reserved = swizzle == 2;
  resource.records = words[2];
  for (unsigned i = 0; i < 4; ++i) {
    resource.select[i] = words[3] >> 3 * i & 7;
    resource.reserved |= resource.select[i] == 2 || resource.select[i] == 3;
  }
  resource.format = words[3] >> 12 & 0x3f;
  resource.index_stride = 8u << (words[3] >> 21 & 3);
  resource.add_thread_id = words[3] >> 23 & 1;
  resource.out_of_bounds = static_cast<OutOfBounds>(words[3] >> 28 & 3);
  resource.type = words[3] >> 30;
  return resource;
}

// Where one lane's access lies: `index` is that of IDXEN (else 0) plus the lane number if the resource adds
// it, `offset` that of OFFEN (else 0) plus the instruction's.
struct BufferAccess {
  uint64_t index = 0;
  uint64_t offset = 0;
};

constexpr BufferAccess buffer_access(const BufferResource& resource, uint32_t vgpr_index,
                                     uint32_t vgpr_offset, uint32_t instruction_offset, unsigned lane) {
  return {uint64_t{vgpr_index} + (resource.add_thread_id ? lane : 0),
          uint64_t{vgpr_offset} + instruction_offset};
}

// Bytes from base + sgpr_offset.
constexpr uint64_t buffer_offset(const BufferResource& resource, BufferAccess access) {
  if (resource.element_size == 0) return access.index * resource.stride + access.offset;
  const uint64_t index_high = access.index / resource.index_stride,
                 index_low = access.index % resource.index_stride;
  const uint64_t element = access.offset / resource.element_size * resource.element_size;
  return (index_high * resource.stride + element) * resource.index_stride +
         index_low * resource.element_size + access.offset % resource.element_size;
}

constexpr uint64_t buffer_address(const BufferResource& resource, BufferAccess access, uint32_t sgpr_offset) {
  return resource.base + sgpr_offset + buffer_offset(resource, access);
}

// Whether `payload` bytes at the access are inside the buffer. Formatted and atomic accesses are checked as a
// whole, others dword by dword: call with the access moved by 4 bytes each and a payload of 4. In raw mode
// without swizzling the stride of an indexed access counts as part of the offset.
constexpr bool is_in_range(const BufferResource& resource, BufferAccess access, uint32_t payload,
                           uint32_t sgpr_offset) {
  const bool inside_record = access.offset + payload <= resource.stride;
  switch (resource.out_of_bounds) {
    case OutOfBounds::structured:
      return access.index < resource.records && inside_record;
    case OutOfBounds::index_only:
      return access.index < resource.records;
    case OutOfBounds::unchecked:
      return resource.records != 0;
    case OutOfBounds::raw:
      if (resource.element_size != 0 && resource.stride != 0)
        return access.index < resource.records && inside_record;
      return buffer_offset(resource, access) + payload + sgpr_offset <= resource.records;
  }
  return false;
}

// s_buffer_load: byte address of a dword, and whether it is inside; `offset` is the sum of instruction and
// SGPR offset.
constexpr uint64_t scalar_buffer_address(const BufferResource& resource, uint64_t offset) {
  return (resource.base & ~uint64_t{3}) + (offset & ~uint64_t{3});
}
constexpr bool is_scalar_in_range(const BufferResource& resource, uint64_t offset) {
  return offset < uint64_t{resource.stride == 0 ? 1 : resource.stride} * resource.records;
}

}  // namespace lockstep::memory
