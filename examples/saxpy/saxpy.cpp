#include <cmath>

#include "examples/examples.h"

namespace lockstep::examples {

Example saxpy(unsigned) {
  constexpr uint32_t kCount = 10000;  // the last work-group is partly idle
  constexpr float kFactor = 1.375f;
  Random random(1);
  const auto x = random.vector(kCount, [](Random& r) { return r.real(-8, 8); });
  const auto y = random.vector(kCount, [](Random& r) { return r.real(-8, 8); });
  std::vector<float> expected(kCount);
  for (uint32_t i = 0; i < kCount; ++i) expected[i] = std::fma(kFactor, x[i], y[i]);

  Example example{.name = "saxpy", .source = "saxpy/saxpy.cl"};
  const Argument buffer_x = example.add_buffer(x), buffer_y = example.add_buffer(y);
  example.dispatches = {{.kernel = "saxpy",
                         .groups = {(kCount + 255) / 256, 1, 1},
                         .group_size = {256, 1, 1},
                         .arguments = {buffer_x, buffer_y, scalar(kFactor), scalar(kCount)}}};
  example.expect(buffer_y, expected);
  return example;
}

}  // namespace lockstep::examples
