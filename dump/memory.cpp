#include "dump/memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <stdexcept>

#include "dump/pages.h"

namespace lockstep::dump {

namespace {

constexpr size_t kMostDifferences = 16;  // that are told one by one
constexpr size_t kMostBytes = 16;        // of each
constexpr std::byte kZeros[kPageBytes] = {};

// Which pages of private memory of this process were ever touched (Linux, /proc/PID/pagemap: bit 63 present,
// bit 62 swapped); the others hold zeros.
class TouchedPages {
 public:
  TouchedPages() : file_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  ~TouchedPages() {
    if (file_ >= 0) close(file_);
  }
  TouchedPages(const TouchedPages&) = delete;
  TouchedPages& operator=(const TouchedPages&) = delete;

  bool has(uint64_t address) {
    const uint64_t page = address / kPageBytes;
    if (page < first_ || page >= first_ + count_) {
      const ssize_t read =
          file_ < 0 ? 0 : pread(file_, entries_, sizeof entries_, static_cast<off_t>(page * 8));
      first_ = page;
      count_ = read <= 0 ? 0 : static_cast<uint64_t>(read) / 8;
    }
    if (count_ == 0) return true;  // nobody says
    return entries_[page - first_] >> 62 != 0;
  }

 private:
  const int file_;
  uint64_t first_ = 0, count_ = 0;
  uint64_t entries_[512];
};

// Zeroed pages at their addresses; else the number of an error, EEXIST where the process has memory of its
// own.
int map_pages(PageRun run) {
  void* const wanted = reinterpret_cast<void*>(run.begin);
  const uint64_t bytes = run.end - run.begin;
  void* const pages = mmap(wanted, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (pages == MAP_FAILED) return errno;
  if (pages == wanted) return 0;
  munmap(pages, bytes);  // kernels before 4.17 take the flag for a wish
  return EEXIST;
}

void add(std::vector<Difference>& list, uint64_t address, std::byte wanted, std::byte found,
         const std::string& range) {
  if (list.empty() || list.back().address + list.back().bytes != address || list.back().range != range) {
    // The last one is complete; beyond these they are only counted.
    if (list.size() > kMostDifferences) return;
    list.push_back({address, 0, range, {}, {}});
  }
  Difference& last = list.back();
  ++last.bytes;
  if (last.wanted.size() == kMostBytes) return;
  last.wanted.push_back(wanted);
  last.found.push_back(found);
}

}  // namespace

Memory::Mapped Memory::map(const File& file, AddressSpace& space) {
  const uint64_t there =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (file.memory_bytes() > there)
    return {nullptr, fmt::format("{}: its memory takes {} MiB, and this machine has {}", file.path(),
                                 file.memory_bytes() >> 20, there >> 20)};
  std::unique_ptr<Memory> memory(new Memory(space));
  const std::vector<MemoryRange>& ranges = file.dispatch().ranges;
  auto range = ranges.begin();
  for (const PageRun& run : page_runs(ranges)) {
    if (const int error = map_pages(run); error != 0)
      return {
          nullptr,
          fmt::format("{}: [0x{:x}, +{}) cannot be mapped: {}", file.path(), run.begin, run.end - run.begin,
                      error == EEXIST ? "this process has memory of its own there" : std::strerror(error)),
          error == EEXIST};
    memory->pages_.push_back(run);
    for (; range != ranges.end() && range->begin < run.end; ++range) {
      if (!space.map(range->begin, range->end - range->begin, range->access, range->name))
        return {nullptr, fmt::format("{}: the device has other memory at 0x{:x}", file.path(), range->begin),
                true};
      memory->mapped_.push_back(range->begin);
    }
  }
  const auto filled = file.read(File::Moment::before, [](uint64_t address, std::span<const std::byte> block) {
    std::memcpy(reinterpret_cast<void*>(address), block.data(), block.size());
  });
  if (!filled) return {nullptr, filled.error().message()};
  return {std::move(memory), ""};
}

Memory::~Memory() {
  for (const uint64_t begin : mapped_) space_.unmap(begin);
  for (const PageRun& run : pages_) munmap(reinterpret_cast<void*>(run.begin), run.end - run.begin);
}

loader::Result<Comparison> Memory::compare(const File& file,
                                           std::span<const std::span<const std::byte>> apart) const {
  Comparison result;
  TouchedPages touched;
  File::Cursor befores(file, File::Moment::before), afters(file, File::Moment::after);
  const auto compare_page = [&](uint64_t page, uint64_t begin, uint64_t end, const std::string& name) {
    const std::byte* const before = befores.page(page);
    const std::byte* const after = afters.page(page);
    if (!before && !after && !touched.has(page)) return;
    const std::byte* const was = before ? before : kZeros;
    const std::byte* const wanted = after ? after : was;
    const auto* const found = reinterpret_cast<const std::byte*>(page);
    if (std::memcmp(wanted, found, kPageBytes) == 0) return;
    for (uint64_t i = std::max(begin, page) - page; i < std::min(end, page + kPageBytes) - page; ++i) {
      if (found[i] == wanted[i]) continue;
      const auto holds = [address = page + i](std::span<const std::byte> bytes) {
        return address - reinterpret_cast<uint64_t>(bytes.data()) < bytes.size();
      };
      if (std::ranges::any_of(apart, holds)) continue;
      const bool alone = found[i] == was[i];
      ++(alone ? result.left_alone : result.different);
      add(alone ? result.others : result.differences, page + i, wanted[i], found[i], name);
    }
  };
  try {
    for (const MemoryRange& range : file.dispatch().ranges) {
      if (!range.compared) continue;
      for (uint64_t page = range.begin & ~(kPageBytes - 1); page < range.end; page += kPageBytes)
        compare_page(page, range.begin, range.end, range.name);
    }
  } catch (const std::runtime_error& error) {
    return loader::Error{error.what(), "", ""};
  }
  for (auto* list : {&result.differences, &result.others})
    if (list->size() > kMostDifferences) list->pop_back();
  return result;
}

}  // namespace lockstep::dump
