#include <algorithm>

#include "examples/examples.h"

namespace lockstep::examples {

namespace {

constexpr uint32_t kCount = 3000, kGroup = 256, kGroups = (kCount + kGroup - 1) / kGroup;

template <class T, class Weight>
void add_stencil(Example& example, const char* kernel, int radius, const std::vector<T>& input,
                 Weight weight) {
  std::vector<T> expected(kCount);
  for (int i = 0; i < int(kCount); ++i)
    for (int offset = -radius; offset <= radius; ++offset)
      expected[i] =
          T(expected[i] + input[std::clamp(i + offset, 0, int(kCount) - 1)] * T(weight(std::abs(offset))));
  const Argument buffer_input = example.add_buffer(input),
                 buffer_output = example.add_buffer(std::vector<T>(kCount));
  example.dispatches.push_back({.kernel = kernel,
                                .groups = {kGroups, 1, 1},
                                .group_size = {kGroup, 1, 1},
                                .arguments = {buffer_input, buffer_output, scalar(int32_t(kCount))},
                                .dynamic_lds_bytes = uint32_t((kGroup + 2 * radius) * sizeof(T))});
  example.expect(buffer_output, expected);
}

}  // namespace

Example stencil_hip(unsigned) {
  Random random(15);
  Example example{.name = "stencil_hip", .language = Language::hip, .source = "stencil_hip/stencil_hip.hip"};
  const auto binomial = [](int distance) { return distance == 0 ? 6 : distance == 1 ? 4 : 1; };
  const auto box = [](int) { return 1; };
  add_stencil(example, "_Z7stencilIfLi2E8BinomialEvPKT_PS1_i", 2,
              random.vector(kCount, [](Random& r) { return r.real(-1, 1); }), binomial);
  add_stencil(example, "_Z7stencilIiLi3E3BoxEvPKT_PS1_i", 3,
              random.vector(kCount, [](Random& r) { return int32_t(r.below(2000)) - 1000; }), box);
  add_stencil(example, "_Z7stencilIdLi1E3BoxEvPKT_PS1_i", 1,
              random.vector(kCount, [](Random& r) { return double(r.real(-1, 1)); }), box);
  add_stencil(example, "_Z7stencilIsLi4E3BoxEvPKT_PS1_i", 4,
              random.vector(kCount, [](Random& r) { return int16_t(r.word()); }), box);

  const auto words = random.vector(kGroups * kGroup, [](Random& r) { return r.word(); });
  std::vector<uint64_t> best(kGroups);
  for (uint32_t i = 0; i < words.size(); ++i)
    best[i / kGroup] = std::max(best[i / kGroup], uint64_t(words[i]) << 32 | i);
  const Argument buffer_words = example.add_buffer(words),
                 buffer_best = example.add_buffer(std::vector<uint64_t>(kGroups));
  example.dispatches.push_back({.kernel = "block_argmax",
                                .groups = {kGroups, 1, 1},
                                .group_size = {kGroup, 1, 1},
                                .arguments = {buffer_words, buffer_best}});
  example.expect(buffer_best, best);
  return example;
}

}  // namespace lockstep::examples
