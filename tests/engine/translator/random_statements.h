// Statements of random grids (random_grid.h) that are straight code, and rows of memory through which each
// item walks.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "tests/engine/translator/random_grid.h"

namespace lockstep::translator {

// Registers: v5 the item's number in the grid, v3 v4 its coordinates, v1 v2 those in the group, v16 that in
// the group as one; v6 to v15 hold data, v17 to v31 what statements need, v32 to v39 rows, v40 to v43 offsets
// that are kept. s[40:43] addresses of functions, s[24:27] a buffer resource of the input, s7 what the launch
// says of rows.
class RandomStatements {
 public:
  RandomStatements(uint64_t seed, unsigned wave_size)
      : wave64_(wave_size == 64), random_(seed * 2 + wave_size / 64) {
    grid_.wave_size = wave_size;
  }

 protected:
  uint32_t below(size_t count) { return static_cast<uint32_t>(random_() % count); }
  bool chance(unsigned one_of) { return below(one_of) == 0; }
  static std::string n(uint64_t number) { return std::to_string(number); }
  std::string data() { return "v" + n(6 + below(grid_.registers)); }
  std::string source() {
    switch (below(8)) {
      case 0:
        return n(below(64));
      case 1:
        return chance(2) ? "1.0" : "-4.0";
      case 2:
        return "s" + n(4 + below(2));
      case 3:
        return "v" + n(1 + below(5));
      default:
        return data();
    }
  }
  std::string group_of(unsigned words) {  // of data registers
    const unsigned first = 6 + below(grid_.registers + 1 - words);
    return words == 1 ? "v" + n(first) : "v[" + n(first) + ":" + n(first + words - 1) + "]";
  }
  std::string mask(unsigned first) const {
    return wave64_ ? "s[" + n(first) + ":" + n(first + 1) + "]" : "s" + n(first);
  }
  const char* vcc() const { return wave64_ ? "vcc" : "vcc_lo"; }
  const char* exec() const { return wave64_ ? "exec" : "exec_lo"; }
  const char* b() const { return wave64_ ? "_b64 " : "_b32 "; }
  void line(const std::string& text) { text_ += text + "\n"; }
  std::string label() { return "l" + n(labels_++); }

  template <size_t kCount>
  std::string one_of(const char* const (&names)[kCount]) {
    return names[below(kCount)];
  }

  void wait() { line("s_waitcnt vmcnt(0) lgkmcnt(0)"); }

  void arithmetic();
  void in_lane();  // of which no lane looks at another one
  void lanes();
  void offset();
  void keep_offset();
  void kept_offset();
  void load();
  void store();
  void atomic();
  void sum_by_exchanges();
  void local_memory();
  void scratch();
  void scalar();
  void rows();

  static constexpr uint32_t kMostGroups = 12, kMostItems = 256 * kMostGroups * 3, kLdsSlot = 20;
  static constexpr unsigned kKept = 40, kKeptCount = 4;
  const bool wave64_;
  RandomGrid grid_;
  std::string text_;

 private:
  std::mt19937_64 random_;
  unsigned labels_ = 0;
};

}  // namespace lockstep::translator
