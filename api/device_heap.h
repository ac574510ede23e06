// The heap of a device's kernels: where in it is what they have got while they ran: single pieces of malloc,
// or what ROCm's device library asks for and shares out itself (ROCm-Device-Libs, ockl: slabs of 2 MiB, and
// whole pages for what is too large for them).
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace lockstep::api {

class DeviceHeap {
 public:
  DeviceHeap() = default;
  DeviceHeap(uint64_t begin, uint64_t bytes) { free_.emplace(begin, bytes); }

  // 0: there is not as much. Slabs are found by their addresses, and pages told from parts of slabs by
  // theirs.
  uint64_t allocate(uint64_t bytes) {
    if (bytes == 0 || bytes > UINT64_MAX - kUnit) return 0;
    const uint64_t alignment = bytes >= kSlab ? kSlab : bytes >= kPage / 2 ? kPage : kUnit;
    bytes = (bytes + kUnit - 1) / kUnit * kUnit;
    for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
      const auto [begin, size] = *piece;
      const uint64_t at = (begin + alignment - 1) / alignment * alignment;
      if (at - begin > size || bytes > size - (at - begin)) continue;
      free_.erase(piece);
      if (at != begin) free_.emplace(begin, at - begin);
      if (const uint64_t rest = begin + size - (at + bytes)) free_.emplace(at + bytes, rest);
      used_.emplace(at, bytes);
      return at;
    }
    return 0;
  }

  // False: nothing was allocated there.
  bool free(uint64_t address) {
    const auto found = used_.find(address);
    if (found == used_.end()) return false;
    auto [begin, size] = *found;
    used_.erase(found);
    auto next = free_.upper_bound(begin);
    if (next != free_.end() && begin + size == next->first) {
      size += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == begin) {
        before->second += size;
        return true;
      }
    }
    free_.emplace(begin, size);
    return true;
  }

 private:
  static constexpr uint64_t kUnit = 16, kPage = 4096, kSlab = 2 << 20;

  std::map<uint64_t, uint64_t> free_, used_;  // address and size
};

}  // namespace lockstep::api
