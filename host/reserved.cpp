#include "host/reserved.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdio>

#include "host/gpu.h"

namespace lockstep::host {

namespace {

// PROCMAP_QUERY of linux/fs.h, Linux 6.11: the mapping at an address, or the next one.
struct MappingQuery {
  uint64_t size, flags, address;
  uint64_t begin, end, rights, page_bytes, offset, inode;
  uint32_t device_major, device_minor, name_bytes, build_id_bytes;
  uint64_t name, build_id;
};
constexpr unsigned long kQueryMapping = _IOWR('f', 17, MappingQuery);
constexpr uint64_t kCoveringOrNext = 0x10, kReadable = 1, kWritable = 2, kExecutable = 4;

// Whether there is no page behind any of these addresses: of memory without a file then nothing was ever
// stored there.
bool is_untouched(uint64_t begin, uint64_t end) {
  constexpr uint64_t kHasPage = uint64_t{3} << 62;  // present, or swapped out
  const int pages =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (pages < 0) return false;
  std::array<uint64_t, 4096> some;
  bool untouched = true;
  for (uint64_t page = begin / kPageBytes, last = end / kPageBytes; untouched && page < last;) {
    const uint64_t count = std::min<uint64_t>(some.size(), last - page);
    untouched =
        syscall(SYS_pread64, pages, some.data(), count * 8, page * 8) == static_cast<long>(count * 8) &&
        std::none_of(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count),
                     [](uint64_t entry) { return (entry & kHasPage) != 0; });
    page += count;
  }
  syscall(SYS_close, pages);
  return untouched;
}

bool is_reserved_by_text(uint64_t begin, uint64_t end, uint64_t own_inode) {
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (!maps) return false;
  bool reserved = true;
  char line[4096], rights[8];
  while (reserved && std::fgets(line, sizeof line, maps)) {
    uint64_t from = 0, to = 0, inode = 0;
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %" SCNu64, &from, &to, rights, &inode) >= 3 &&
        from < end && to > begin)
      reserved = (rights[0] == '-' && rights[1] == '-' && rights[2] == '-') ||
                 (own_inode != 0 && inode == own_inode) ||
                 (inode == 0 && is_untouched(std::max(from, begin), std::min(to, end)));
  }
  std::fclose(maps);
  return reserved;
}

}  // namespace

bool is_reserved(uint64_t begin, uint64_t bytes, uint64_t own_inode) {
  const uint64_t end = begin + bytes;
  const int maps = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC));
  if (maps < 0) return is_reserved_by_text(begin, end, own_inode);
  bool reserved = true;
  for (uint64_t at = begin; reserved && at < end;) {
    MappingQuery query = {};
    query.size = sizeof query;
    query.flags = kCoveringOrNext;
    query.address = at;
    if (syscall(SYS_ioctl, maps, kQueryMapping, &query) != 0) {
      if (errno != ENOENT) reserved = is_reserved_by_text(at, end, own_inode);  // an older kernel
      break;
    }
    if (query.begin >= end) break;
    reserved = (query.rights & (kReadable | kWritable | kExecutable)) == 0 ||
               (own_inode != 0 && query.inode == own_inode) ||
               (query.inode == 0 && is_untouched(std::max(query.begin, at), std::min(query.end, end)));
    at = query.end;
  }
  syscall(SYS_close, maps);
  return reserved;
}

}  // namespace lockstep::host
