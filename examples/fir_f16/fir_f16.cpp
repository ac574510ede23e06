#include <algorithm>

#include "examples/examples.h"

namespace lockstep::examples {

namespace {

using Half = _Float16;

// Products and sums of the test data are exact in double, so only the one rounding to half remains.
Half fma(Half a, Half b, Half c) {
  return Half(double(a) * double(b) + double(c));
}

}  // namespace

Example fir_f16(unsigned) {
  constexpr uint32_t kCount = 2048, kTaps = 8, kGroup = 128;
  constexpr float kGain = 0.37f;
  Random random(17);
  const auto input =
      random.vector(kCount + kTaps, [](Random& r) { return Half(float(int(r.below(513)) - 256) / 64.0f); });
  const auto taps =
      random.vector(kTaps, [](Random& r) { return Half(float(int(r.below(201)) - 100) / 256.0f); });
  std::vector<Half> expected(kCount);
  for (uint32_t i = 0; i < kCount; ++i) {
    Half sum = 0;
    for (uint32_t t = 0; t < kTaps; ++t) sum = fma(taps[t], input[i + t], sum);
    const Half scaled = Half(double(sum) * double(Half(kGain)));
    expected[i] = Half(double(std::clamp(scaled, Half(-1), Half(1))) + 0.5);
  }

  Example example{.name = "fir_f16", .source = "fir_f16/fir_f16.cl"};
  const Argument buffer_input = example.add_buffer(input), buffer_taps = example.add_buffer(taps),
                 buffer_scalar = example.add_buffer(std::vector<Half>(kCount)),
                 buffer_packed = example.add_buffer(std::vector<Half>(kCount));
  example.dispatches = {{.kernel = "fir_f16",
                         .groups = {kCount / kGroup, 1, 1},
                         .group_size = {kGroup, 1, 1},
                         .arguments = {buffer_input, buffer_taps, buffer_scalar, scalar(kGain)}},
                        {.kernel = "fir_f16_packed",
                         .groups = {kCount / 2 / kGroup, 1, 1},
                         .group_size = {kGroup, 1, 1},
                         .arguments = {buffer_input, buffer_taps, buffer_packed, scalar(kGain)}}};
  example.expect(buffer_scalar, expected);
  example.expect(buffer_packed, expected);
  return example;
}

}  // namespace lockstep::examples
