// One lane's part of a load or store. Always inlined: files that use it are compiled for different hosts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "isa/memory_shape.h"
#include "memory/whole_access.h"

namespace lockstep::translator {

[[gnu::always_inline]] inline uint32_t extended(const isa::AccessShape& shape, uint32_t raw) {
  if (!shape.sign_extend) return raw;
  return shape.bytes == 1 ? static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(raw)))
                          : static_cast<uint32_t>(static_cast<int32_t>(static_cast<int16_t>(raw)));
}

[[gnu::always_inline]] inline void load_lane(const isa::AccessShape& shape, const void* from, uint32_t* data,
                                             unsigned stride) {
  if (shape.bytes >= 4) {
    const auto* memory = static_cast<const std::byte*>(from);
    unsigned i = 0;
    if (shape.bytes == 16) {
      const FourDwords four = load_four(memory);
      for (; i < 4; ++i) data[i * stride] = four[i];
    }
    for (; i + 1 < shape.bytes / 4u; i += 2) {
      const uint64_t pair = load_pair(memory + 4 * i);
      data[i * stride] = static_cast<uint32_t>(pair);
      data[(i + 1) * stride] = static_cast<uint32_t>(pair >> 32);
    }
    if (i < shape.bytes / 4u) std::memcpy(data + i * stride, memory + 4 * i, 4);
    return;
  }
  uint32_t raw = 0;
  std::memcpy(&raw, from, shape.bytes);
  const uint32_t value = extended(shape, raw);
  if (shape.part == isa::RegisterPart::low_half)
    *data = (*data & 0xffff0000u) | (value & 0xffffu);
  else if (shape.part == isa::RegisterPart::high_half)
    *data = (*data & 0xffffu) | value << 16;
  else
    *data = value;
}

[[gnu::always_inline]] inline void store_lane(const isa::AccessShape& shape, void* to, const uint32_t* data,
                                              unsigned stride) {
  if (shape.bytes >= 4) {
    auto* memory = static_cast<std::byte*>(to);
    unsigned i = 0;
    if (shape.bytes == 16) {
      store_four(memory, FourDwords{data[0], data[stride], data[2 * stride], data[3 * stride]});
      i = 4;
    }
    for (; i + 1 < shape.bytes / 4u; i += 2) {
      store_pair(memory + 4 * i, data[i * stride] | uint64_t{data[(i + 1) * stride]} << 32);
    }
    if (i < shape.bytes / 4u) std::memcpy(memory + 4 * i, data + i * stride, 4);
    return;
  }
  const uint32_t value = shape.part == isa::RegisterPart::high_half ? *data >> 16 : *data;
  std::memcpy(to, &value, shape.bytes);
}

}  // namespace lockstep::translator
