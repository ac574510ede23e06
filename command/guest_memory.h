// Guest memory as command processors see it: checked against what is mapped at the moment.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "memory/address_space.h"

namespace lockstep::command {

// Zeroed pages of the host, mapped for the guest for as long as this lives; waves that run keep what was
// mapped when they were launched. Throws std::bad_alloc.
class MappedPages {
 public:
  MappedPages(AddressSpace& memory, size_t bytes, uint8_t access, std::string name);
  ~MappedPages();
  MappedPages(const MappedPages&) = delete;
  MappedPages& operator=(const MappedPages&) = delete;

  std::byte* data() const { return pages_->data(); }
  uint64_t address() const { return pages_->address(); }

 private:
  AddressSpace& memory_;
  const std::shared_ptr<const HostPages> pages_;
};

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
