// What a store puts where it reaches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/listener.h"
#include "isa/instruction.h"

namespace lockstep::observe {

// Where the data of one of a store's accesses comes from: VGPRs from `vgpr` on, beginning with byte `skip`.
struct StoreSource {
  unsigned vgpr = 0;
  unsigned skip = 0;
};
// False for what is no plain store of registers: atomics, format conversions.
bool find_store_source(const Event& event, size_t access, StoreSource& source);

// The byte that the access stores at an offset from its address.
std::byte stored_byte(const Event& event, size_t access, const StoreSource& source, uint64_t offset);

// Whether two lanes store the same to the part that both of their accesses cover.
bool store_the_same(const Event& event, size_t one, size_t other);

}  // namespace lockstep::observe
