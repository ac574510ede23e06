// Guest memory as command processors see it: checked against what is mapped at the moment.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "memory/address_space.h"

namespace lockstep::command {

// The bytes at a guest address, or null if not all of them are mapped with that access.
std::byte* guest_bytes(const RangeSet& ranges, uint64_t address, uint64_t bytes, uint8_t access);

// What is wrong with an access, and what is mapped near it.
std::string describe_violation(const RangeSet& ranges, uint64_t address, uint64_t bytes, uint8_t access);

// Words that hosts, kernels and command processors write at the same time.
template <class T>
inline T load_shared(const void* from, std::memory_order order = std::memory_order_acquire) {
  return std::atomic_ref<T>(*static_cast<T*>(const_cast<void*>(from))).load(order);
}
template <class T>
inline void store_shared(void* to, T value, std::memory_order order = std::memory_order_release) {
  std::atomic_ref<T>(*static_cast<T*>(to)).store(value, order);
}

}  // namespace lockstep::command
