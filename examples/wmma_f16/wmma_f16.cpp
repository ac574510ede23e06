#include "examples/examples.h"

namespace lockstep::examples {

Example wmma_f16(unsigned wave_size) {
  constexpr uint32_t kM = 48, kN = 96, kK = 64, kGroup = 128;
  Random random(12);
  // Small multiples of a quarter: every product and every sum is exact in 16 bits too, whatever the order.
  const auto quarter = [](Random& r) { return _Float16((int(r.below(9)) - 4) * 0.25f); };
  const auto a = random.vector(kM * kK, quarter);
  const auto b = random.vector(kN * kK, quarter);
  std::vector<float> expected(kM * kN);
  std::vector<_Float16> expected_half(kM * kN);
  for (uint32_t row = 0; row < kM; ++row)
    for (uint32_t column = 0; column < kN; ++column) {
      float sum = 0;
      for (uint32_t i = 0; i < kK; ++i) sum += float(a[row * kK + i]) * float(b[column * kK + i]);
      expected[row * kN + column] = sum;
      expected_half[row * kN + column] = _Float16(sum);
    }

  const uint32_t tiles_per_group = kGroup / wave_size;
  const std::array<uint32_t, 3> groups = {(kN / 16 + tiles_per_group - 1) / tiles_per_group, kM / 16, 1};
  Example example{.name = "wmma_f16", .language = Language::hip, .source = "wmma_f16/wmma_f16.hip"};
  const Argument buffer_a = example.add_buffer(a), buffer_b = example.add_buffer(b),
                 buffer_c = example.add_buffer(std::vector<float>(kM * kN)),
                 buffer_low = example.add_buffer(std::vector<_Float16>(kM * kN)),
                 buffer_high = example.add_buffer(std::vector<_Float16>(kM * kN));
  example.dispatches = {{.kernel = "wmma_f16_f32",
                         .groups = groups,
                         .group_size = {kGroup, 1, 1},
                         .arguments = {buffer_a, buffer_b, buffer_c, scalar(kN), scalar(kK)}},
                        {.kernel = "wmma_f16_f16",
                         .groups = groups,
                         .group_size = {kGroup, 1, 1},
                         .arguments = {buffer_a, buffer_b, buffer_low, buffer_high, scalar(kN), scalar(kK)}}};
  example.expect(buffer_c, expected);
  example.expect(buffer_low, expected_half);
  example.expect(buffer_high, expected_half);
  return example;
}

}  // namespace lockstep::examples
