// The bytes of guest memory that an instruction reads or writes.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace lockstep::precise {

class Footprint {
 public:
  void add(uint64_t address, uint64_t bytes) { spans_.push_back({address, address + bytes}); }
  // Sorts and joins what was added; overlaps() wants it done.
  void settle();
  bool overlaps(const Footprint& other) const;
  bool empty() const { return spans_.empty(); }
  void clear() { spans_.clear(); }
  const std::vector<std::pair<uint64_t, uint64_t>>& spans() const { return spans_; }

 private:
  std::vector<std::pair<uint64_t, uint64_t>> spans_;  // first byte, one behind the last
};

}  // namespace lockstep::precise
