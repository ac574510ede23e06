// Zeroed pages of the host that the guest sees for as long as their owner wants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "memory/address_space.h"
#include "memory/host_pages.h"

namespace lockstep {

// Mapped for the guest for as long as this lives; waves that run keep what was mapped when they were
// launched.
class MappedPages {
 public:
  // As many pages as hold `bytes`. Throws std::bad_alloc.
  MappedPages(AddressSpace& memory, size_t bytes, uint8_t access, std::string name);
  // Pages that nobody else has. Throws std::bad_alloc: there are none, or a range lies where they are.
  MappedPages(AddressSpace& memory, std::shared_ptr<const HostPages> pages, uint8_t access, std::string name);
  ~MappedPages();
  MappedPages(const MappedPages&) = delete;
  MappedPages& operator=(const MappedPages&) = delete;

  std::byte* data() const { return pages_->data(); }
  uint64_t address() const { return pages_->address(); }

 private:
  AddressSpace& memory_;
  const std::shared_ptr<const HostPages> pages_;
};

}  // namespace lockstep
