#include <algorithm>
#include <numeric>

#include "examples/examples.h"

namespace lockstep::examples {

Example scan_subgroup(unsigned wave_size) {
  constexpr uint32_t kGroup = 256, kGroups = 5, kCount = kGroup * kGroups;
  Random random(10);
  const auto input = random.vector(kCount, [](Random& r) { return r.word(); });
  std::vector<uint32_t> expected(kCount), maximum;
  for (uint32_t first = 0; first < kCount; first += kGroup)
    std::inclusive_scan(input.begin() + first, input.begin() + first + kGroup, expected.begin() + first);
  for (uint32_t first = 0; first < kCount; first += wave_size)
    maximum.insert(maximum.end(), wave_size,
                   *std::max_element(input.begin() + first, input.begin() + first + wave_size));

  Example example{.name = "scan_subgroup", .source = "scan_subgroup/scan_subgroup.cl"};
  const Argument buffer_input = example.add_buffer(input),
                 buffer_output = example.add_buffer(std::vector<uint32_t>(kCount)),
                 buffer_maximum = example.add_buffer(std::vector<uint32_t>(maximum.size()));
  example.dispatches = {{.kernel = "scan_subgroup",
                         .groups = {kGroups, 1, 1},
                         .group_size = {kGroup, 1, 1},
                         .arguments = {buffer_input, buffer_output, buffer_maximum}}};
  example.expect(buffer_output, expected);
  example.expect(buffer_maximum, maximum);
  return example;
}

}  // namespace lockstep::examples
