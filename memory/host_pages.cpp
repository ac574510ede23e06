#include "memory/host_pages.h"

#include <sys/mman.h>

namespace lockstep {

std::shared_ptr<HostPages> HostPages::make(uint64_t bytes) {
  void* pages =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  return std::shared_ptr<HostPages>(new HostPages(static_cast<std::byte*>(pages), bytes));
}

HostPages::~HostPages() {
  munmap(data_, bytes_);
}

void HostPages::empty() const {
  madvise(data_, bytes_, MADV_DONTNEED);
}

}  // namespace lockstep
