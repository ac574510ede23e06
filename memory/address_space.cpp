#include "memory/address_space.h"

#include <algorithm>
#include <tuple>

namespace lockstep {

namespace {

uint64_t next_serial() {
  static std::atomic<uint64_t> serial = 0;
  return ++serial;
}

}  // namespace

// ---- RangeSet

const Range* RangeSet::at_or_before(uint64_t address) const {
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                [](uint64_t value, const Range& range) { return value < range.begin; });
  return after == ranges_.begin() ? nullptr : &*(after - 1);
}

const Range* RangeSet::find(uint64_t address, uint64_t bytes, uint8_t access, Reaching reaching) const {
  if (live_) return live_->find(address, bytes, access, reaching);
  const Range* range = at_or_before(address);
  if (!range || address >= range->end || range->end - address < bytes) return nullptr;
  return (range->access & access) == access ? range : nullptr;
}

bool RangeSet::allows(uint64_t address, uint64_t bytes, uint8_t access) const {
  if (live_) return live_->extent(address, bytes, access, Reaching::adjoining_mappings).has_value();
  return find(address, bytes, access) != nullptr;
}

std::optional<Range> RangeSet::nearest(uint64_t address) const {
  if (live_) return live_->nearest(address);
  const Range* range = at_or_before(address);
  return range ? std::optional(*range) : std::nullopt;
}

std::optional<Range> RangeSet::after(uint64_t address) const {
  if (live_) return live_->after(address);
  const auto found = std::ranges::upper_bound(ranges_, address, {}, &Range::begin);
  return found == ranges_.end() ? std::nullopt : std::optional(*found);
}

std::optional<Range> RangeSet::closest_behind(uint64_t address) const {
  constexpr uint64_t kNullPage = 4096;  // what lies there was meant for nothing that is mapped
  if (address < kNullPage) return std::nullopt;
  const std::optional<Range> before = nearest(address), behind = after(address);
  if (!behind || behind->begin - address > kFar) return std::nullopt;
  const bool is_closer =
      !before || (address >= before->end && behind->begin - address < address - before->end);
  return is_closer ? behind : std::nullopt;
}

std::vector<Range> RangeSet::ranges() const {
  return live_ ? live_->all() : ranges_;
}

uint64_t RangeSet::version() const {
  return live_ ? live_->version() : 0;
}

// ---- AddressSpace

AddressSpace::AddressSpace(Changes changes) : ranges_(std::make_shared<LiveRanges>()), changes_(changes) {
  if (changes_ == Changes::seen_at_once) snapshot_ = std::make_shared<RangeSet>(ranges_);
}

bool AddressSpace::map(uint64_t address, uint64_t bytes, uint8_t access, std::string name,
                       std::shared_ptr<const HostPages> pages) {
  if (bytes == 0 || address + bytes < address) return false;
  return ranges_->map({address, address + bytes, access, std::move(name), next_serial(), std::move(pages)},
                      false);
}

bool AddressSpace::map_over(uint64_t address, uint64_t bytes, uint8_t access, std::string name) {
  if (bytes == 0 || address + bytes < address) return false;
  return ranges_->map({address, address + bytes, access, std::move(name), next_serial()}, true);
}

bool AddressSpace::unmap(uint64_t address) {
  return ranges_->unmap(address);
}

void AddressSpace::unmap(uint64_t address, uint64_t bytes) {
  if (bytes == 0) return;
  ranges_->unmap(address, address + bytes < address ? ~uint64_t{0} : address + bytes);
}

void AddressSpace::clear() {
  ranges_->clear();
}

std::shared_ptr<const RangeSet> AddressSpace::snapshot() const {
  if (changes_ == Changes::seen_at_once) return snapshot_;
  std::lock_guard lock(mutex_);
  const uint64_t version = ranges_->version();
  if (version != snapshot_version_) {
    // Read before the ranges: a change between the two makes another snapshot next time.
    snapshot_version_ = version;
    snapshot_ = std::make_shared<RangeSet>(ranges_->all());
  }
  return snapshot_;
}

// ---- LiveRanges

bool LiveRanges::ByExtent::operator()(const Range& a, const Range& b) const {
  return std::tie(a.begin, a.end, a.access) < std::tie(b.begin, b.end, b.access);
}

bool LiveRanges::map(Range range, bool over) {
  std::unique_lock lock(mutex_);
  bool any_gone = false;
  if (over) {
    any_gone = remove(range.begin, range.end);
  } else {
    const auto after = ranges_.lower_bound(range.begin);
    if (after != ranges_.end() && after->first < range.end) return false;
    if (after != ranges_.begin() && std::prev(after)->second.end > range.begin) return false;
  }
  const uint64_t begin = range.begin;
  ranges_.emplace(begin, std::move(range));
  const uint64_t version = changed();
  lock.unlock();
  if (any_gone) wait_for_users(version);
  return true;
}

bool LiveRanges::unmap(uint64_t address) {
  std::unique_lock lock(mutex_);
  if (ranges_.erase(address) == 0) return false;
  const uint64_t version = changed();
  lock.unlock();
  wait_for_users(version);
  return true;
}

void LiveRanges::unmap(uint64_t begin, uint64_t end) {
  std::unique_lock lock(mutex_);
  if (!remove(begin, end)) return;
  const uint64_t version = changed();
  lock.unlock();
  wait_for_users(version);
}

void LiveRanges::clear() {
  std::unique_lock lock(mutex_);
  ranges_.clear();
  const uint64_t version = changed();
  lock.unlock();
  wait_for_users(version);
}

// Threads share what translated code has found. Who began before the change may have written down what is
// gone behind the back of those that have begun since, and have forgotten what was there before: when the
// former are through, the latter forget again.
void LiveRanges::wait_for_users(uint64_t version) {
  users_.wait_until(version);
  users_.wait_until(changed());
}

bool LiveRanges::remove(uint64_t begin, uint64_t end) {
  bool any = false;
  auto at = ranges_.upper_bound(begin);
  if (at != ranges_.begin() && std::prev(at)->second.end > begin) --at;
  while (at != ranges_.end() && at->first < end) {
    any = true;
    Range whole = std::move(at->second);
    at = ranges_.erase(at);
    // What is left of it is the same mapping.
    if (whole.end > end) {
      Range rest = whole;
      rest.begin = end;
      at = ranges_.emplace(end, std::move(rest)).first;
    }
    if (whole.begin < begin) {
      whole.end = begin;
      ranges_.emplace(whole.begin, std::move(whole));
    }
  }
  return any;
}

std::optional<LiveRanges::Extent> LiveRanges::extent(uint64_t address, uint64_t bytes, uint8_t access,
                                                     Reaching reaching) const {
  std::shared_lock lock(mutex_);
  auto at = ranges_.upper_bound(address);
  if (at == ranges_.begin()) return std::nullopt;
  --at;
  if (address >= at->second.end || (at->second.access & access) != access) return std::nullopt;
  Extent extent{at->second.begin, at->second.end, at->second.access};
  while (extent.end - address < bytes) {
    if (reaching == Reaching::one_mapping) return std::nullopt;
    if (++at == ranges_.end() || at->first != extent.end || (at->second.access & access) != access)
      return std::nullopt;
    extent.end = at->second.end;
    extent.access &= at->second.access;
  }
  return extent;
}

const Range* LiveRanges::find(uint64_t address, uint64_t bytes, uint8_t access, Reaching reaching) const {
  const std::optional<Extent> found = extent(address, bytes, access, reaching);
  if (!found) return nullptr;
  std::lock_guard lock(extents_mutex_);
  return &*extents_.insert({found->begin, found->end, found->access, {}}).first;
}

std::optional<Range> LiveRanges::nearest(uint64_t address) const {
  std::shared_lock lock(mutex_);
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return std::nullopt;
  return std::prev(after)->second;
}

std::optional<Range> LiveRanges::after(uint64_t address) const {
  std::shared_lock lock(mutex_);
  const auto found = ranges_.upper_bound(address);
  return found == ranges_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Range> LiveRanges::all() const {
  std::shared_lock lock(mutex_);
  std::vector<Range> ranges;
  ranges.reserve(ranges_.size());
  for (const auto& [begin, range] : ranges_) ranges.push_back(range);
  return ranges;
}

}  // namespace lockstep
