// The memory of a dump in this process, at the addresses that it had.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dump/file.h"
#include "memory/address_space.h"

namespace lockstep::dump {

// Bytes one behind the other that are not what they were in the program.
struct Difference {
  uint64_t address = 0, bytes = 0;
  std::string range;                     // its name
  std::vector<std::byte> wanted, found;  // the first of them
};

struct Comparison {
  uint64_t different = 0;  // bytes that are neither what they were before nor what they became in the program
  // Bytes that became something else in the program and nothing here: the host, copies and other dispatches
  // write there meanwhile.
  uint64_t left_alone = 0;
  std::vector<Difference> differences, others;  // the first of both, in order of address
};

class Memory {
 public:
  struct Mapped {
    std::unique_ptr<Memory> memory;  // null: it could not be had
    std::string problem;
    bool is_taken = false;  // this process has memory of its own there; another one may not
  };
  // Maps the ranges for the guest and fills them.
  static Mapped map(const File& file, AddressSpace& space);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // With what was there in the program when the dispatch had ended, without the bytes of `apart`.
  loader::Result<Comparison> compare(const File& file,
                                     std::span<const std::span<const std::byte>> apart = {}) const;

 private:
  explicit Memory(AddressSpace& space) : space_(space) {}

  AddressSpace& space_;
  std::vector<PageRun> pages_;  // of the host
  std::vector<uint64_t> mapped_;
};

}  // namespace lockstep::dump
