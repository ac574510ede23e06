// Who touched each byte last: by dwords, and by bytes in the blocks where less than a dword was touched.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "observe/races/knowledge.h"

namespace lockstep::observe {

struct ReadMark {
  WaveNumber wave = 0;
  uint32_t epoch = 0;
  uint32_t site = 0;  // number of the instruction
};
struct WriteMark {
  WaveNumber wave = 0;
  uint32_t epoch = 0;
  uint32_t site = 0;
  uint32_t complete = 0;  // epochs of the wave whose stores to memory were complete when it wrote
  uint32_t event = 0;     // number of the wave-instruction
  uint16_t access = 0;    // of the wave-instruction's
  bool is_atomic = false;
  bool is_compared = false;  // of an atomic: a compare and swap
  bool is_silent = false;    // of an atomic: it gives nothing back
};

// The last plain store before the atomics that have changed it since.
struct PlainMark {
  WaveNumber wave = 0;
  uint32_t epoch = 0;
  uint32_t site = 0;
};

struct Cell {
  WriteMark write;
  PlainMark plain;           // where `write` is an atomic
  ReadMark reads[2];         // of two waves, those that nothing has ordered before a later one
  WaveNumber atomic_by = 0;  // who changed it by an atomic last
  bool is_watched = false;   // read past the caches: plain stores to it are atomic ones in the source
};

// Cells for a stretch of memory.
class AccessBlock {
 public:
  explicit AccessBlock(uint32_t bytes) { begin(bytes); }
  // As if it were new; only what was touched is cleared.
  void begin(uint32_t bytes);
  // Calls visit(cell, offset) for those of [offset, offset + bytes).
  template <class Visit>
  void visit(uint32_t offset, uint32_t bytes, Visit visit) {
    if (!by_bytes_ && (offset | bytes) % 4 != 0) split();
    const uint32_t unit = by_bytes_ ? 1 : 4;
    touched_ = std::max<size_t>(touched_, (offset + bytes + unit - 1) / unit);
    for (uint32_t at = offset; at < offset + bytes && at / unit < cells_.size(); at += unit)
      visit(cells_[at / unit], at);
  }
  size_t bytes() const { return cells_.size() * sizeof(Cell); }

 private:
  void split();

  bool by_bytes_ = false;
  std::vector<Cell> cells_;
  size_t touched_ = 0;  // cells, from the first on
};

// Of the guest's memory, in pages.
class AccessPages {
 public:
  static constexpr uint32_t kPage = 4096;
  // What the checker may take of the host; pages that come behind it are not followed.
  static constexpr size_t kMostBytes = size_t{1} << 30;

  AccessBlock* page(uint64_t address);
  // Null if nothing of it was touched.
  AccessBlock* known_page(uint64_t address);
  // As if nobody had touched [begin, begin + bytes).
  void forget(uint64_t begin, uint64_t bytes);
  void clear();

 private:
  std::unordered_map<uint64_t, std::unique_ptr<AccessBlock>> pages_;
  uint64_t last_number_ = ~uint64_t{0};
  AccessBlock* last_ = nullptr;
};

}  // namespace lockstep::observe
