#include "memory/host_pages.h"

#include <sys/mman.h>

#include <atomic>

namespace lockstep {

namespace {

// Programs store and hash addresses: the same requests get the same ones in every process, wherever the
// host's own random layout puts the rest. Far from where Linux and the sanitizers put theirs. What is taken
// already is the host's choice, which treats this as a wish.
constexpr uint64_t kFirst = uint64_t{0x2000} << 32, kEnd = uint64_t{0x4000} << 32;
// Small requests stand closer, large ones where the host has large pages; there is at least a page between
// two.
constexpr uint64_t kSmall = uint64_t{1} << 16, kLarge = uint64_t{1} << 21;

void* wish(uint64_t bytes) {
  static std::atomic<uint64_t> next = kFirst;
  if (bytes >= kEnd - kFirst - kLarge) return nullptr;
  const uint64_t unit = bytes < kLarge ? kSmall : kLarge;
  const uint64_t room = (bytes / unit + 1) * unit + kSmall;
  uint64_t begin, seen = next.load();
  do {
    begin = (seen + unit - 1) / unit * unit;
    if (begin + room > kEnd) begin = kFirst;
  } while (!next.compare_exchange_weak(seen, begin + room));
  return reinterpret_cast<void*>(begin);
}

}  // namespace

std::shared_ptr<HostPages> HostPages::make(uint64_t bytes) {
  void* pages =
      mmap(wish(bytes), bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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
