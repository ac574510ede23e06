// Memory of this process, page by page: some of it may be gone, and some never was there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "dump/dispatch.h"

namespace lockstep::dump {

inline constexpr uint64_t kBlockPages = 256;  // that are read, and kept, as one at most

bool is_zero(std::span<const std::byte> page);

class PageReader {
 public:
  using Pages = std::function<void(uint64_t address, std::span<const std::byte>)>;
  using Absent = std::function<void(PageRun)>;

  // Holes of the file behind `sparse_file` (a descriptor, or -1) stay holes: to read them would fill them
  // with memory. The mappings are those of now.
  explicit PageReader(int sparse_file);

  // In order of address: whole pages that could be read, in blocks, and runs of pages that could not. Pages
  // that are in neither hold zeros.
  void read(PageRun run, const Pages& pages, const Absent& absent) const;

 private:
  struct Mapping {
    uint64_t begin = 0, end = 0, offset = 0;  // of the sparse file
  };
  void read_all(PageRun run, const Pages& pages, const Absent& absent) const;

  int sparse_file_;
  std::vector<Mapping> mappings_;  // sorted
};

}  // namespace lockstep::dump
