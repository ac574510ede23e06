#include <algorithm>

#include "examples/examples.h"

namespace lockstep::examples {

Example bitonic_sort(unsigned) {
  constexpr uint32_t kBlocks = 4, kBlock = 512;
  Random random(8);
  // Keys repeat, so that the values decide too.
  std::vector<uint32_t> pairs;
  for (uint32_t i = 0; i < kBlocks * kBlock; ++i) {
    pairs.push_back(random.below(200));
    pairs.push_back(random.word());
  }
  std::vector<uint32_t> expected;
  for (uint32_t block = 0; block < kBlocks; ++block) {
    std::vector<std::pair<uint32_t, uint32_t>> sorted;
    for (uint32_t i = block * kBlock; i < (block + 1) * kBlock; ++i)
      sorted.emplace_back(pairs[2 * i], pairs[2 * i + 1]);
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [key, value] : sorted) {
      expected.push_back(key);
      expected.push_back(value);
    }
  }

  Example example{.name = "bitonic_sort", .source = "bitonic_sort/bitonic_sort.cl"};
  const Argument buffer = example.add_buffer(pairs);
  example.dispatches = {{.kernel = "bitonic_sort",
                         .groups = {kBlocks, 1, 1},
                         .group_size = {256, 1, 1},
                         .arguments = {buffer}}};
  example.expect(buffer, expected);
  return example;
}

}  // namespace lockstep::examples
