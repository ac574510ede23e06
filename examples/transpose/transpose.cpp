#include "examples/examples.h"

namespace lockstep::examples {

Example transpose(unsigned) {
  constexpr uint32_t kWidth = 150, kHeight = 70, kTile = 32;  // neither is a multiple of the tile
  Random random(11);
  const auto input = random.vector(kWidth * kHeight, [](Random& r) { return r.word(); });
  std::vector<uint32_t> expected(input.size());
  for (uint32_t y = 0; y < kHeight; ++y)
    for (uint32_t x = 0; x < kWidth; ++x) expected[x * kHeight + y] = input[y * kWidth + x];

  Example example{.name = "transpose", .source = "transpose/transpose.cl"};
  const Argument buffer_input = example.add_buffer(input),
                 buffer_output = example.add_buffer(std::vector<uint32_t>(input.size()));
  example.dispatches = {{.kernel = "transpose",
                         .groups = {(kWidth + kTile - 1) / kTile, (kHeight + kTile - 1) / kTile, 1},
                         .group_size = {kTile, 8, 1},
                         .arguments = {buffer_input, buffer_output, scalar(kWidth), scalar(kHeight)}}};
  example.expect(buffer_output, expected);
  return example;
}

}  // namespace lockstep::examples
