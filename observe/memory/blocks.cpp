#include "observe/memory/blocks.h"

#include <algorithm>
#include <mutex>

namespace lockstep::observe {

uint64_t Blocks::end_of_pages(const Block& block) {
  constexpr uint64_t kPageBytes = 4096;
  return block.begin + (block.bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

void Blocks::add(uint64_t begin, uint64_t bytes) {
  const Block block{begin, bytes};
  if (bytes == 0 || block.end() < begin) return;
  std::lock_guard lock(mutex_);
  auto at = blocks_.lower_bound(begin);
  if (at != blocks_.begin() && end_of_pages(std::prev(at)->second) > begin) --at;
  while (at != blocks_.end() && at->first < end_of_pages(block)) at = blocks_.erase(at);
  blocks_.emplace(begin, block);
}

void Blocks::remove(uint64_t begin) {
  std::lock_guard lock(mutex_);
  const auto found = blocks_.find(begin);
  if (found == blocks_.end()) return;
  if (freed_.size() == kMostFreed) freed_.pop_front();
  freed_.push_back(found->second);
  blocks_.erase(found);
}

std::optional<Blocks::Block> Blocks::at(uint64_t address) const {
  std::shared_lock lock(mutex_);
  auto above = blocks_.upper_bound(address);
  if (above == blocks_.begin()) return std::nullopt;
  const Block& block = (--above)->second;
  return address < end_of_pages(block) ? std::optional(block) : std::nullopt;
}

std::optional<Blocks::Block> Blocks::freed_at(uint64_t address) const {
  std::shared_lock lock(mutex_);
  const auto found = std::find_if(freed_.rbegin(), freed_.rend(), [&](const Block& block) {
    return block.begin <= address && address < end_of_pages(block);
  });
  return found == freed_.rend() ? std::nullopt : std::optional(*found);
}

}  // namespace lockstep::observe
