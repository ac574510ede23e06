// Random programs for whole grids: work-groups of several waves, barriers, loops, branches, calls, and memory
// in the patterns that kernels have. What they write does not depend on the order of waves.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::translator {

struct RandomGrid {
  // At entry: s[0:1] memory that is read, s[2:3] memory that is written, s4 work-items of a row of the grid,
  // s7 `rounds`, s[8:9] the work-group's id, v0 the work-item's.
  static constexpr uint32_t kInputBytes = 1 << 20, kBufferBytes = 1 << 14, kSlotBytes = 64, kColumns = 16,
                            kSharedBytes = 256;

  unsigned wave_size = 32;
  uint32_t float_mode = 0;  // as FLOAT_MODE of COMPUTE_PGM_RSRC1
  std::array<uint32_t, 3> grid{}, group{};
  // Without LDS and scratch, as kernels are whose groups run in rows.
  bool is_plain = false;
  unsigned registers = 10;              // with data, which are stored at the end
  uint32_t row_bytes = 256;             // of each item, which walks through them
  uint32_t rounds = 1;                  // of such a walk, of dwords at most
  std::vector<std::string> statements;  // any of which may be left out
  std::string functions;                // that they call

  uint32_t items() const { return grid[0] * grid[1]; }
  // Slots of the items; columns, of which each has a dword of each item; memory of each wave; rows of the
  // items; shared counters.
  uint32_t columns_at() const { return items() * kSlotBytes; }
  uint32_t waves_at() const { return columns_at() + items() * 4 * kColumns; }
  uint32_t rows_at() const { return waves_at() + items() * 256; }
  uint32_t shared_at() const { return rows_at() + (items() * row_bytes + 3) / 4 * 4; }
  uint32_t output_bytes() const { return shared_at() + kSharedBytes; }
  std::string text() const;
};

RandomGrid random_grid(uint64_t seed, unsigned wave_size);

}  // namespace lockstep::translator
