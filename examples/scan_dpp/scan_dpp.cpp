#include <numeric>

#include "examples/examples.h"

namespace lockstep::examples {

Example scan_dpp(unsigned) {
  constexpr uint32_t kGroup = 256, kGroups = 256, kCount = kGroup * kGroups;
  Random random(9);
  const auto input = random.vector(kCount, [](Random& r) { return r.below(1000); });
  std::vector<uint32_t> expected(kCount);
  std::inclusive_scan(input.begin(), input.end(), expected.begin());

  Example example{.name = "scan_dpp", .language = Language::hip, .source = "scan_dpp/scan_dpp.hip"};
  const Argument buffer_input = example.add_buffer(input),
                 buffer_output = example.add_buffer(std::vector<uint32_t>(kCount)),
                 buffer_sums = example.add_buffer(std::vector<uint32_t>(kGroups)),
                 buffer_sums_scanned = example.add_buffer(std::vector<uint32_t>(kGroups)),
                 buffer_total = example.add_buffer(std::vector<uint32_t>(1));
  example.dispatches = {{.kernel = "scan_dpp",
                         .groups = {kGroups, 1, 1},
                         .group_size = {kGroup, 1, 1},
                         .arguments = {buffer_input, buffer_output, buffer_sums}},
                        {.kernel = "scan_dpp",
                         .group_size = {kGroup, 1, 1},
                         .arguments = {buffer_sums, buffer_sums_scanned, buffer_total}},
                        {.kernel = "scan_dpp_carry",
                         .groups = {kGroups, 1, 1},
                         .group_size = {kGroup, 1, 1},
                         .arguments = {buffer_output, buffer_sums_scanned}}};
  example.expect(buffer_output, expected);
  example.expect(buffer_total, std::vector<uint32_t>{expected.back()});
  return example;
}

}  // namespace lockstep::examples
