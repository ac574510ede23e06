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

void AccessPages::clear() {
  pages_.clear();
  last_number_ = ~uint64_t{0};
}

}  // namespace lockstep::observe
