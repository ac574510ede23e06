#include "observe/races/accesses.h"

namespace lockstep::observe {

void AccessBlock::begin(uint32_t bytes) {
  const size_t count = (bytes + 3) / 4;
  if (by_bytes_ || cells_.size() != count)
    cells_.assign(count, {});
  else
    std::fill_n(cells_.begin(), std::min(touched_, count), Cell{});
  by_bytes_ = false;
  touched_ = 0;
}

void AccessBlock::split() {
  std::vector<Cell> bytes(cells_.size() * 4);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = cells_[i / 4];
  cells_ = std::move(bytes);
  by_bytes_ = true;
  touched_ *= 4;
}

AccessBlock* AccessPages::page(uint64_t address) {
  const uint64_t number = address / kPage;
  if (number == last_number_) return last_;
  auto found = pages_.find(number);
  if (found == pages_.end()) {
    // A page by dwords takes a quarter of one by bytes.
    if (pages_.size() * (kPage / 4 * sizeof(Cell)) >= kMostBytes) return nullptr;
    found = pages_.emplace(number, std::make_unique<AccessBlock>(kPage)).first;
  }
  last_number_ = number;
  return last_ = found->second.get();
}

AccessBlock* AccessPages::known_page(uint64_t address) {
  const uint64_t number = address / kPage;
  if (number == last_number_) return last_;
  const auto found = pages_.find(number);
  if (found == pages_.end()) return nullptr;
  last_number_ = number;
  return last_ = found->second.get();
}

void AccessPages::forget(uint64_t begin, uint64_t bytes) {
  if (bytes == 0) return;
  const uint64_t end = begin + bytes;
  const auto forget_in = [&](uint64_t number, AccessBlock& block) {
    const uint64_t page = number * kPage, from = std::max(begin, page), to = std::min(end, page + kPage);
    block.visit(static_cast<uint32_t>(from - page), static_cast<uint32_t>(to - from),
                [](Cell& cell, uint32_t) { cell = {}; });
  };
  const uint64_t first = begin / kPage, last = (end - 1) / kPage;
  if (last - first < pages_.size()) {
    for (uint64_t number = first; number <= last; ++number)
      if (const auto found = pages_.find(number); found != pages_.end()) forget_in(number, *found->second);
    return;
  }
  for (const auto& [number, block] : pages_)
    if (number >= first && number <= last) forget_in(number, *block);
}

void AccessPages::clear() {
  pages_.clear();
  last_number_ = ~uint64_t{0};
}

}  // namespace lockstep::observe
