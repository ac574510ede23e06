#include <bit>

#include "examples/examples.h"

namespace lockstep::examples {

namespace {

// The usual bit-mask search, unlike the kernel's.
uint32_t count(uint32_t size, uint32_t column, uint32_t rows, uint32_t up, uint32_t down) {
  if (column == size) return 1;
  uint32_t found = 0;
  for (uint32_t free = ~(rows | up | down) & ((1u << size) - 1); free != 0; free &= free - 1) {
    const uint32_t row = free & -free;
    found += count(size, column + 1, rows | row, (up | row) << 1, (down | row) >> 1);
  }
  return found;
}

}  // namespace

Example queens(unsigned) {
  constexpr uint32_t kSize = 7, kCount = 64;
  std::vector<uint8_t> starts;
  std::vector<uint32_t> expected(kCount);
  for (uint32_t i = 0; i < kCount; ++i) {
    const uint32_t first = i / kSize % kSize, second = i % kSize, a = 1u << first, b = 1u << second;
    starts.push_back(uint8_t(first));
    starts.push_back(uint8_t(second));
    const uint32_t up = a << 1, down = a >> 1;
    if (b & (a | up | down)) continue;
    expected[i] = count(kSize, 2, a | b, (up | b) << 1, (down | b) >> 1);
  }

  Example example{.name = "queens", .source = "queens/queens.cl"};
  const Argument buffer_starts = example.add_buffer(starts), buffer_solutions = example.add_buffer(expected);
  example.buffers[buffer_solutions.buffer].assign(kCount * sizeof(uint32_t), std::byte(0xff));
  example.dispatches = {{.kernel = "queens",
                         .groups = {kCount / 64, 1, 1},
                         .group_size = {64, 1, 1},
                         .arguments = {buffer_starts, buffer_solutions, scalar(kSize)}}};
  example.expect(buffer_solutions, expected);
  return example;
}

}  // namespace lockstep::examples
