#include <cmath>

#include "examples/examples.h"

namespace lockstep::examples {

namespace {

struct State {
  double v[4];
};

State derivative(const State& s) {
  const double distance2 = s.v[0] * s.v[0] + s.v[1] * s.v[1];
  const double distance3 = distance2 * std::sqrt(distance2);
  return {{s.v[2], s.v[3], -s.v[0] / distance3, -s.v[1] / distance3}};
}

State advanced(const State& s, const State& slope, double time) {
  State result;
  for (int i = 0; i < 4; ++i) result.v[i] = s.v[i] + slope.v[i] * time;
  return result;
}

}  // namespace

Example orbit_f64(unsigned) {
  constexpr uint32_t kCount = 128, kSteps = 40;
  constexpr double kStep = 0.05;
  Random random(16);
  std::vector<double> states, expected;
  for (uint32_t orbit = 0; orbit < kCount; ++orbit) {
    State s = {
        {random.real(0.5f, 2), random.real(-0.5f, 0.5f), random.real(-0.4f, 0.4f), random.real(0.5f, 1.2f)}};
    states.insert(states.end(), s.v, s.v + 4);
    for (uint32_t n = 0; n < kSteps; ++n) {
      const State k1 = derivative(s), k2 = derivative(advanced(s, k1, 0.5 * kStep)),
                  k3 = derivative(advanced(s, k2, 0.5 * kStep)), k4 = derivative(advanced(s, k3, kStep));
      for (int i = 0; i < 4; ++i)
        s.v[i] += (k1.v[i] + k2.v[i] * 2.0 + k3.v[i] * 2.0 + k4.v[i]) * (kStep / 6.0);
    }
    expected.insert(expected.end(), s.v, s.v + 4);
  }

  Example example{.name = "orbit_f64", .source = "orbit_f64/orbit_f64.cl"};
  const Argument buffer = example.add_buffer(states);
  example.dispatches = {{.kernel = "orbit_f64",
                         .groups = {kCount / 64, 1, 1},
                         .group_size = {64, 1, 1},
                         .arguments = {buffer, scalar(kStep), scalar(kSteps)}}};
  example.expect(buffer, expected);
  return example;
}

}  // namespace lockstep::examples
