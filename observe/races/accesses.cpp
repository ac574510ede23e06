#include "observe/races/accesses.h"

namespace lockstep::observe {

void AccessBlock::begin(uint32_t bytes) {
  const uint32_t size = (bytes + 3) / 4 * 4;
  if (size_ != size) {
    lines_.assign((size + kLine - 1) / kLine, {});
    touched_ = 0;
  }
  size_ = size;
  forget();
  by_bytes_ = false;
}

void AccessBlock::forget() {
  std::fill_n(lines_.begin(), touched_, Line{});
  touched_ = 0;
  cells_.clear();
}

Cell* AccessBlock::cells_of(uint32_t number) {
  Line& line = lines_[number];
  touched_ = std::max(touched_, number + 1);
  if (line.cells == 0) {
    const uint32_t count = by_bytes_ ? kLine : kLine / 4, unit = by_bytes_ ? 4 : 1;
    line.cells = static_cast<uint32_t>(cells_.size()) + 1;
    cells_.resize(cells_.size() + count, line.whole);
    for (uint32_t i = 0; i < count; ++i)
      cells_[line.cells - 1 + i].write.access += static_cast<uint16_t>(i / unit / line.dwords_each);
  }
  return &cells_[line.cells - 1];
}

void AccessBlock::split() {
  by_bytes_ = true;
  std::vector<Cell> bytes;
  for (Line& line : lines_) {
    if (line.cells == 0) continue;
    const uint32_t first = line.cells - 1;
    line.cells = static_cast<uint32_t>(bytes.size()) + 1;
    for (uint32_t i = 0; i < kLine; ++i) bytes.push_back(cells_[first + i / 4]);
  }
  cells_ = std::move(bytes);
}

AccessBlock* AccessPages::page(uint64_t address) {
  const uint64_t number = address / kPage;
  if (number == last_number_ && last_) return last_;
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
  last_number_ = number;
  return last_ = found == pages_.end() ? nullptr : found->second.get();
}

bool AccessPages::may_know(uint64_t begin, uint64_t end) const {
  const uint64_t first = begin / kPage, last = (end - 1) / kPage;
  constexpr uint64_t kMostAsked = 16;
  if (last - first >= kMostAsked) return !pages_.empty();
  for (uint64_t number = first; number <= last; ++number)
    if (pages_.contains(number)) return true;
  return false;
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
