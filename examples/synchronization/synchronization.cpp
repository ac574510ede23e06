#include <algorithm>

#include "examples/examples.h"

namespace lockstep::examples {

Example synchronization(unsigned) {
  constexpr uint32_t kGroup = 64, kGroups = 20, kCount = kGroup * kGroups, kRounds = 10;
  Random random(20);
  const auto input = random.vector(kCount, [](Random& r) { return r.word(); });
  std::vector<uint32_t> counters = {0, 0, ~0u, 0, ~0u, 0, 0, 0, 1};
  std::vector<uint64_t> wide(3);
  const std::vector<uint32_t> counters_before = counters;
  const std::vector<uint64_t> wide_before = wide;
  uint32_t sum = 0;
  for (const uint32_t value : input) {
    sum += value;
    counters[0] += value;
    counters[1] -= value;
    counters[2] = std::min(counters[2], value);
    counters[3] = std::max(counters[3], value);
    counters[4] &= value | 0xffffff00u;
    counters[5] |= value & 0x00ff00ffu;
    counters[6] ^= value;
    counters[7] += 1;
    counters[8] = (counters[8] * 5 + 1) % 4093;
    wide[0] += uint64_t(value) << 20;
    wide[1] = std::max(wide[1], uint64_t(value) << 31);
    wide[2] ^= value * 0x9E3779B97F4A7C15u;
  }
  uint32_t chain = 0;
  for (uint32_t i = 0; i < kGroups * kRounds; ++i) chain = chain * 3 + 7;

  Example example{.name = "synchronization", .source = "synchronization/synchronization.cl"};
  const Argument buffer_input = example.add_buffer(input),
                 buffer_counters = example.add_buffer(counters_before),
                 buffer_wide = example.add_buffer(wide_before),
                 buffer_tickets = example.add_buffer(std::vector<uint32_t>(kCount)),
                 buffer_lock = example.add_buffer(std::vector<uint32_t>(1)),
                 buffer_guarded = example.add_buffer(std::vector<uint32_t>(2)),
                 buffer_parts = example.add_buffer(std::vector<uint32_t>(kGroups)),
                 buffer_arrived = example.add_buffer(std::vector<uint32_t>(1)),
                 buffer_sum = example.add_buffer(std::vector<uint32_t>(1));
  const std::array<uint32_t, 3> groups = {kGroups, 1, 1}, group_size = {kGroup, 1, 1};
  example.dispatches = {{.kernel = "count",
                         .groups = groups,
                         .group_size = group_size,
                         .arguments = {buffer_input, buffer_counters, buffer_wide, buffer_tickets}},
                        {.kernel = "locked",
                         .groups = groups,
                         .group_size = group_size,
                         .arguments = {buffer_lock, buffer_guarded, scalar(kRounds)}},
                        {.kernel = "sum_last",
                         .groups = groups,
                         .group_size = group_size,
                         .arguments = {buffer_input, buffer_parts, buffer_arrived, buffer_sum}}};
  example.expect(buffer_counters, counters);
  example.expect(buffer_wide, wide);
  example.expect(buffer_tickets, std::vector<uint32_t>(kCount, 1));
  example.expect(buffer_guarded, std::vector<uint32_t>{kGroups * kRounds, chain});
  example.expect(buffer_sum, std::vector<uint32_t>{sum});
  return example;
}

}  // namespace lockstep::examples
