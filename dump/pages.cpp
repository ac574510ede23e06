#include "dump/pages.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace lockstep::dump {

bool is_zero(std::span<const std::byte> page) {
  static constexpr std::byte kZeros[kPageBytes] = {};
  return std::memcmp(page.data(), kZeros, page.size()) == 0;
}

PageReader::PageReader(int sparse_file) : sparse_file_(sparse_file) {
  struct stat status = {};
  if (sparse_file < 0 || fstat(sparse_file, &status) != 0) return;
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    Mapping mapping;
    unsigned major_number = 0, minor_number = 0;
    uint64_t inode = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %x:%x %" SCNu64, &mapping.begin,
                    &mapping.end, &mapping.offset, &major_number, &minor_number, &inode) == 6 &&
        inode == status.st_ino && makedev(major_number, minor_number) == status.st_dev)
      mappings_.push_back(mapping);
  }
}

void PageReader::read(PageRun run, const Pages& pages, const Absent& absent) const {
  auto mapping = std::find_if(mappings_.begin(), mappings_.end(),
                              [&](const Mapping& each) { return each.end > run.begin; });
  for (uint64_t at = run.begin; at < run.end;) {
    if (mapping == mappings_.end() || mapping->begin >= run.end) {
      read_all({at, run.end}, pages, absent);
      return;
    }
    if (at < mapping->begin) {
      read_all({at, mapping->begin}, pages, absent);
      at = mapping->begin;
    }
    const uint64_t end = std::min(run.end, mapping->end);
    const auto offset = [&](uint64_t address) {
      return static_cast<off_t>(address - mapping->begin + mapping->offset);
    };
    const auto address = [&](off_t place) {
      return static_cast<uint64_t>(place) - mapping->offset + mapping->begin;
    };
    while (at < end) {
      const off_t data = lseek(sparse_file_, offset(at), SEEK_DATA);
      if (data < 0 || address(data) >= end) break;  // nothing but a hole up to the end
      const off_t hole = lseek(sparse_file_, data, SEEK_HOLE);
      const uint64_t begin = address(data) & ~(kPageBytes - 1);
      at = hole < 0 ? end : std::min(end, (address(hole) + kPageBytes - 1) & ~(kPageBytes - 1));
      read_all({std::max(begin, run.begin), at}, pages, absent);
    }
    at = end;
    ++mapping;
  }
}

void PageReader::read_all(PageRun run, const Pages& pages, const Absent& absent) const {
  std::vector<std::byte> block(std::min(run.end - run.begin, kBlockPages * kPageBytes));
  PageRun missing;
  for (uint64_t at = run.begin; at < run.end;) {
    const size_t wanted = std::min<uint64_t>(run.end - at, block.size());
    const iovec local{block.data(), wanted}, remote{reinterpret_cast<void*>(at), wanted};
    const ssize_t result = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    const size_t read = result <= 0 ? 0 : static_cast<size_t>(result) / kPageBytes * kPageBytes;
    if (read != 0) {
      if (missing.end != 0) absent(missing);
      missing = {};
      pages(at, std::span(block).first(read));
      at += read;
    } else {
      missing = {missing.end != 0 ? missing.begin : at, at + kPageBytes};
      at += kPageBytes;
    }
  }
  if (missing.end != 0) absent(missing);
}

}  // namespace lockstep::dump
