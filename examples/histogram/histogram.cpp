#include "examples/examples.h"

namespace lockstep::examples {

Example histogram(unsigned) {
  constexpr uint32_t kGroups = 6, kGroup = 256, kWordsPerItem = 8;
  Random random(6);
  // The product of two numbers is far from evenly spread: some bins are hit by many lanes at once.
  const auto data = random.vector(kGroups * kGroup * kWordsPerItem, [](Random& r) {
    uint32_t word = 0;
    for (int byte = 0; byte < 4; ++byte) word = word << 8 | (r.below(16) * r.below(17));
    return word;
  });
  std::vector<uint32_t> expected(256);
  for (const uint32_t word : data)
    for (int shift = 0; shift < 32; shift += 8) ++expected[word >> shift & 255];

  Example example{.name = "histogram", .source = "histogram/histogram.cl"};
  const Argument buffer_data = example.add_buffer(data),
                 buffer_bins = example.add_buffer(std::vector<uint32_t>(256));
  example.dispatches = {{.kernel = "histogram",
                         .groups = {kGroups, 1, 1},
                         .group_size = {kGroup, 1, 1},
                         .arguments = {buffer_data, buffer_bins, scalar(kWordsPerItem)}}};
  example.expect(buffer_bins, expected);
  return example;
}

}  // namespace lockstep::examples
