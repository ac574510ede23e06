// Who touched each byte last: by lines, as long as those that touch a line touch all of it; else by dwords,
// and by bytes in the blocks where less than a dword was touched.
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
  static constexpr uint32_t kLine = 64;  // what 16 lanes touch, a dword each

  explicit AccessBlock(uint32_t bytes) { begin(bytes); }
  // As if it were new; only what was touched is cleared.
  void begin(uint32_t bytes);
  // Likewise, but for whether parts of dwords were touched.
  void forget();
  // Calls visit(cell, offset) for those of [offset, offset + bytes).
  template <class Visit>
  void visit(uint32_t offset, uint32_t bytes, Visit visit) {
    if (!by_bytes_ && (offset | bytes) % 4 != 0) split();
    const uint32_t unit = by_bytes_ ? 1 : 4, end = std::min(offset + bytes, size_);
    for (uint32_t at = offset; at < end;) {
      Cell* const cells = cells_of(at / kLine);
      for (const uint32_t stop = std::min(end, (at / kLine + 1) * kLine); at < stop; at += unit)
        visit(cells[at % kLine / unit], at);
    }
  }
  // The one cell of a line that was never touched but as a whole. Null: it is not that, or not all of it is
  // there.
  Cell* whole_line(uint32_t offset) {
    const uint32_t number = offset / kLine;
    if (offset % kLine != 0 || (number + 1) * kLine > size_) return nullptr;
    touched_ = std::max(touched_, number + 1);
    return lines_[number].cells == 0 ? &lines_[number].whole : nullptr;
  }
  // All of the line was written, by accesses of so many dwords: the one that the mark names, and those behind
  // it.
  void line_is_written(uint32_t offset, uint32_t dwords_each) {
    lines_[offset / kLine].dwords_each = dwords_each;
  }

 private:
  struct Line {
    Cell whole;                // of the first dword; it stands for all of them
    uint32_t dwords_each = 1;  // of an access that wrote it
    uint32_t cells = 0;        // where the line's own ones begin in cells_, and 1; 0: it has none
  };

  void split();
  Cell* cells_of(uint32_t number);

  bool by_bytes_ = false;
  uint32_t size_ = 0;     // in bytes
  uint32_t touched_ = 0;  // lines, from the first on
  std::vector<Line> lines_;
  std::vector<Cell> cells_;
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
  // Whether anything of the pages of [begin, end) may have been touched.
  bool may_know(uint64_t begin, uint64_t end) const;
  // As if nobody had touched [begin, begin + bytes).
  void forget(uint64_t begin, uint64_t bytes);
  void clear();

 private:
  std::unordered_map<uint64_t, std::unique_ptr<AccessBlock>> pages_;
  // That was looked up last; null: it is not there.
  uint64_t last_number_ = ~uint64_t{0};
  AccessBlock* last_ = nullptr;
};

}  // namespace lockstep::observe
