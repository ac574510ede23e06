// The guest's view of memory: guest addresses are host addresses inside ranges that were mapped for the
// guest.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "memory/host_pages.h"

namespace lockstep {

enum Access : uint8_t { kRead = 1, kWrite = 2, kReadWrite = 3, kExecute = 4 };

struct Range {
  uint64_t begin = 0;  // first byte
  uint64_t end = 0;    // one behind the last byte
  uint8_t access = 0;
  std::string name;     // for messages: "buffer 'x'", "code object a.co"
  uint64_t serial = 0;  // tells this mapping from every other one of the process
  // Where it is; null: memory that outlives all who use the range.
  std::shared_ptr<const HostPages> pages = nullptr;
};

// An immutable set of ranges, sorted, not overlapping. A dispatch keeps one, so that it never changes under a
// wave.
class RangeSet {
 public:
  explicit RangeSet(std::vector<Range> sorted) : ranges_(std::move(sorted)) {}
  // The range that holds [address, address + bytes) with all of `access`, or null.
  const Range* find(uint64_t address, uint64_t bytes, uint8_t access) const;
  // The range that holds or most closely precedes the address, or null: for messages.
  const Range* nearest(uint64_t address) const;
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  std::vector<Range> ranges_;
};

class AddressSpace {
 public:
  AddressSpace();
  // Makes [address, address + bytes) accessible, and owns the pages as long as anybody has the range. Returns
  // false and changes nothing if it overlaps a mapped range, is empty, or wraps around.
  bool map(uint64_t address, uint64_t bytes, uint8_t access, std::string name,
           std::shared_ptr<const HostPages> pages = nullptr);
  // Removes the range that begins at `address`; false if there is none.
  bool unmap(uint64_t address);
  void clear();
  std::shared_ptr<const RangeSet> snapshot() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const RangeSet> ranges_;
};

}  // namespace lockstep
