#include "memory/address_space.h"

#include <algorithm>
#include <atomic>

namespace lockstep {

const Range* RangeSet::nearest(uint64_t address) const {
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                [](uint64_t value, const Range& range) { return value < range.begin; });
  return after == ranges_.begin() ? nullptr : &*(after - 1);
}

const Range* RangeSet::find(uint64_t address, uint64_t bytes, uint8_t access) const {
  const Range* range = nearest(address);
  if (!range || address >= range->end || range->end - address < bytes) return nullptr;
  return (range->access & access) == access ? range : nullptr;
}

AddressSpace::AddressSpace() : ranges_(std::make_shared<RangeSet>(std::vector<Range>{})) {}

bool AddressSpace::map(uint64_t address, uint64_t bytes, uint8_t access, std::string name,
                       std::shared_ptr<const HostPages> pages) {
  if (bytes == 0 || address + bytes < address) return false;
  std::lock_guard lock(mutex_);
  std::vector<Range> ranges = ranges_->ranges();
  auto after = std::lower_bound(ranges.begin(), ranges.end(), address,
                                [](const Range& range, uint64_t value) { return range.begin < value; });
  if (after != ranges.end() && after->begin < address + bytes) return false;
  if (after != ranges.begin() && (after - 1)->end > address) return false;
  static std::atomic<uint64_t> serial = 0;
  ranges.insert(after, Range{address, address + bytes, access, std::move(name), ++serial, std::move(pages)});
  ranges_ = std::make_shared<RangeSet>(std::move(ranges));
  return true;
}

bool AddressSpace::unmap(uint64_t address) {
  std::lock_guard lock(mutex_);
  std::vector<Range> ranges = ranges_->ranges();
  auto found =
      std::find_if(ranges.begin(), ranges.end(), [&](const Range& range) { return range.begin == address; });
  if (found == ranges.end()) return false;
  ranges.erase(found);
  ranges_ = std::make_shared<RangeSet>(std::move(ranges));
  return true;
}

void AddressSpace::clear() {
  std::lock_guard lock(mutex_);
  ranges_ = std::make_shared<RangeSet>(std::vector<Range>{});
}

std::shared_ptr<const RangeSet> AddressSpace::snapshot() const {
  std::lock_guard lock(mutex_);
  return ranges_;
}

}  // namespace lockstep
