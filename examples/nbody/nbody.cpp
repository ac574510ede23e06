#include <cmath>

#include "examples/examples.h"

namespace lockstep::examples {

Example nbody(unsigned) {
  constexpr uint32_t kCount = 512, kGroup = 128;
  constexpr float kSoftening = 0.01f;
  Random random(4);
  const auto bodies = random.vector(kCount * 4, [](Random& r) { return r.real(-1, 1); });
  std::vector<float> expected(kCount * 4);
  double largest = 0;  // over all bodies, of the sum of the magnitudes of the terms
  for (uint32_t i = 0; i < kCount; ++i) {
    double sum[3] = {}, magnitude = 0;
    for (uint32_t j = 0; j < kCount; ++j) {
      double d[3], distance2 = kSoftening;
      for (int axis = 0; axis < 3; ++axis) {
        d[axis] = double(bodies[j * 4 + axis]) - double(bodies[i * 4 + axis]);
        distance2 += d[axis] * d[axis];
      }
      const double weight = bodies[j * 4 + 3] / (distance2 * std::sqrt(distance2));
      for (int axis = 0; axis < 3; ++axis) {
        sum[axis] += weight * d[axis];
        magnitude += std::fabs(weight * d[axis]);
      }
    }
    for (int axis = 0; axis < 3; ++axis) expected[i * 4 + axis] = float(sum[axis]);
    largest = std::fmax(largest, magnitude);
  }

  Example example{.name = "nbody", .source = "nbody/nbody.cl"};
  const Argument buffer_bodies = example.add_buffer(bodies),
                 buffer_acceleration = example.add_buffer(std::vector<float>(kCount * 4));
  example.dispatches = {
      {.kernel = "nbody",
       .groups = {kCount / kGroup, 1, 1},
       .group_size = {kGroup, 1, 1},
       .arguments = {buffer_bodies, buffer_acceleration, scalar(kCount), scalar(kSoftening)}}};
  example.expect(
      buffer_acceleration, expected,
      {.absolute = largest * 32 * 0x1p-24,
       .why = "32 half-ulps of the sum of magnitudes: v_rsq_f32 is within 1 ulp and enters three times, the "
              "differences, products and running sum round about 20 times more"});
  return example;
}

}  // namespace lockstep::examples
