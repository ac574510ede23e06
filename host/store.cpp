#include "host/store.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <system_error>

#include "host/own_descriptors.h"

namespace lockstep::host {

namespace {

constexpr uint64_t kFileBytes = uint64_t{1} << 46;
constexpr uint64_t kUnit = 4096, kLargeUnit = uint64_t{2} << 20;  // of large pages

// By the system call: the library's own functions are those that programs' calls are taken from.
void* map_pages(void* address, uint64_t bytes, int flags, int descriptor, uint64_t offset) {
  return reinterpret_cast<void*>(
      syscall(SYS_mmap, address, bytes, PROT_READ | PROT_WRITE, flags, descriptor, offset));
}

}  // namespace

Store::Store()
    : descriptor_(taken_over(static_cast<int>(syscall(SYS_memfd_create, "lockstep", 1u /* MFD_CLOEXEC */)))) {
  if (descriptor_ < 0 || syscall(SYS_ftruncate, descriptor_, kFileBytes) != 0)
    throw std::system_error(errno, std::generic_category(), "no file for the memory of the devices");
  // Offset 0 is nobody's.
  gaps_[kLargeUnit] = kFirstDoorbells;
}

Store::~Store() {
  close_own(descriptor_);
}

uint64_t Store::allocate(uint64_t bytes) {
  if (bytes == 0 || bytes % kUnit != 0) return 0;
  const uint64_t unit = bytes < kLargeUnit ? kUnit : kLargeUnit;
  std::lock_guard lock(mutex_);
  for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
    const uint64_t begin = (gap->first + unit - 1) / unit * unit;
    if (begin >= gap->second || gap->second - begin < bytes) continue;
    const uint64_t end = gap->second;
    if (begin == gap->first)
      gaps_.erase(gap);
    else
      gap->second = begin;
    if (begin + bytes != end) gaps_[begin + bytes] = end;
    return begin;
  }
  return 0;
}

bool Store::has_given(uint64_t offset, uint64_t bytes) const {
  if (offset < kLargeUnit || offset >= kFirstDoorbells || bytes > kFirstDoorbells - offset) return false;
  std::lock_guard lock(mutex_);
  const auto gap = gaps_.upper_bound(offset);  // behind it
  return (gap == gaps_.end() || gap->first - offset >= bytes) &&
         (gap == gaps_.begin() || std::prev(gap)->second <= offset);
}

void Store::free(uint64_t offset, uint64_t bytes) {
  syscall(SYS_fallocate, descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes);
  std::lock_guard lock(mutex_);
  uint64_t begin = offset, end = offset + bytes;
  auto next = gaps_.lower_bound(begin);
  if (next != gaps_.end() && next->first == end) {
    end = next->second;
    next = gaps_.erase(next);
  }
  if (next != gaps_.begin() && std::prev(next)->second == begin) {
    std::prev(next)->second = end;
  } else {
    gaps_[begin] = end;
  }
}

void* Store::map(void* address, uint64_t offset, uint64_t bytes) const {
  void* mapped =
      map_pages(address, bytes, MAP_SHARED | MAP_NORESERVE | (address ? MAP_FIXED : 0), descriptor_, offset);
  return mapped == MAP_FAILED ? nullptr : mapped;
}

}  // namespace lockstep::host
