#include <algorithm>
#include <climits>

#include "examples/examples.h"

namespace lockstep::examples {

namespace {

constexpr uint32_t kGroup = 256;

// What one dispatch of reduce_sum leaves in `partial`: the same additions in the same order.
std::vector<float> partial_sums(const std::vector<float>& input, uint32_t groups) {
  std::vector<float> partial(groups);
  for (uint32_t group = 0; group < groups; ++group) {
    float fold[kGroup] = {};
    for (uint32_t item = 0; item < kGroup; ++item)
      for (size_t i = group * kGroup + item; i < input.size(); i += groups * kGroup) fold[item] += input[i];
    for (uint32_t half = kGroup / 2; half > 0; half /= 2)
      for (uint32_t item = 0; item < half; ++item) fold[item] += fold[item + half];
    partial[group] = fold[0];
  }
  return partial;
}

}  // namespace

Example reduction(unsigned) {
  constexpr uint32_t kCount = 20001, kGroups = 7;
  Random random(5);
  const auto floats = random.vector(kCount, [](Random& r) { return r.real(-1, 3); });
  const auto integers = random.vector(kCount, [](Random& r) { return int32_t(r.word()); });
  const std::vector<float> partial = partial_sums(floats, kGroups);
  uint32_t sum = 0, negative = 0;
  for (const int32_t value : integers) {
    sum += uint32_t(value);
    negative += value < 0;
  }
  const auto [minimum, maximum] = std::minmax_element(integers.begin(), integers.end());

  Example example{.name = "reduction", .source = "reduction/reduction.cl"};
  const Argument buffer_floats = example.add_buffer(floats), buffer_integers = example.add_buffer(integers),
                 buffer_partial = example.add_buffer(std::vector<float>(kGroups)),
                 buffer_sum = example.add_buffer(std::vector<float>(1)),
                 buffer_extremes = example.add_buffer(std::vector<int32_t>{INT_MAX, INT_MIN, 0, 0});
  example.dispatches = {{.kernel = "reduce_sum",
                         .groups = {kGroups, 1, 1},
                         .group_size = {kGroup, 1, 1},
                         .arguments = {buffer_floats, buffer_partial, scalar(kCount)}},
                        {.kernel = "reduce_sum",
                         .group_size = {kGroup, 1, 1},
                         .arguments = {buffer_partial, buffer_sum, scalar(kGroups)}},
                        {.kernel = "reduce_integers",
                         .groups = {kGroups, 1, 1},
                         .group_size = {kGroup, 1, 1},
                         .arguments = {buffer_integers, buffer_extremes, scalar(kCount)}}};
  example.expect(buffer_partial, partial);
  example.expect(buffer_sum, partial_sums(partial, 1));
  example.expect(buffer_extremes, std::vector<int32_t>{*minimum, *maximum, int32_t(sum), int32_t(negative)});
  return example;
}

}  // namespace lockstep::examples
