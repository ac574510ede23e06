// One lane's load or store by the tables of semantics/, for handlers that go lane by lane.
#pragma once

#include "engine/interpreter/memory_access.h"
#include "isa/memory_shape.h"

namespace lockstep::interpreter {

// Puts what a load of that shape has read into its registers.
inline void place_loaded(Wave* wave, uint32_t destination, unsigned lane, const isa::AccessShape& shape,
                         const uint32_t* words) {
  uint32_t* first = vgpr_lanes(wave, destination) + lane;
  if (shape.bytes > 2) {
    for (unsigned i = 0; i < shape.bytes / 4u; ++i)
      vgpr_lanes(wave, destination + i * wave->register_bytes)[lane] = words[i];
    return;
  }
  uint32_t value = shape.bytes == 1 ? words[0] & 0xff : words[0] & 0xffff;
  if (shape.sign_extend)
    value = static_cast<uint32_t>(shape.bytes == 1 ? int32_t{static_cast<int8_t>(value)}
                                                   : int32_t{static_cast<int16_t>(value)});
  if (shape.part == isa::RegisterPart::whole)
    *first = value;
  else if (shape.part == isa::RegisterPart::low_half)
    *first = (*first & 0xffff0000u) | (value & 0xffffu);
  else
    *first = (*first & 0xffffu) | value << 16;
}

// What a store of that shape writes.
inline void take_stored(Wave* wave, uint32_t source, unsigned lane, const isa::AccessShape& shape,
                        uint32_t* words) {
  for (unsigned i = 0; i < shape.registers(); ++i)
    words[i] = vgpr_lanes(wave, source + i * wave->register_bytes)[lane];
  if (shape.part == isa::RegisterPart::high_half) words[0] >>= 16;
}

}  // namespace lockstep::interpreter
