#include <cmath>

#include "examples/examples.h"

namespace lockstep::examples {

namespace {

// The kernel's polynomial, in double.
double normal_distribution(double x) {
  const double magnitude = std::fabs(x), k = 1 / (1 + 0.2316419 * magnitude);
  const double polynomial =
      k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
  const double tail = 0.39894228 * std::exp(-0.5 * x * x) * polynomial;
  return x >= 0 ? 1 - tail : tail;
}

}  // namespace

Example black_scholes(unsigned) {
  constexpr uint32_t kCount = 2048;
  constexpr float kRate = 0.03f, kVolatility = 0.3f;
  Random random(18);
  const auto spot = random.vector(kCount, [](Random& r) { return r.real(10, 100); });
  const auto strike = random.vector(kCount, [](Random& r) { return r.real(10, 100); });
  const auto years = random.vector(kCount, [](Random& r) { return r.real(0.25f, 10); });
  std::vector<float> call(kCount), put(kCount);
  for (uint32_t i = 0; i < kCount; ++i) {
    const double s = spot[i], x = strike[i], t = years[i], volatility = kVolatility, rate = kRate;
    const double deviation = volatility * std::sqrt(t);
    const double d1 = (std::log(s / x) + (rate + 0.5 * volatility * volatility) * t) / deviation,
                 d2 = d1 - deviation;
    const double discounted = x * std::exp(-rate * t);
    call[i] = float(s * normal_distribution(d1) - discounted * normal_distribution(d2));
    put[i] = float(discounted * normal_distribution(-d2) - s * normal_distribution(-d1));
  }

  Example example{.name = "black_scholes", .source = "black_scholes/black_scholes.cl"};
  const Argument buffer_spot = example.add_buffer(spot), buffer_strike = example.add_buffer(strike),
                 buffer_years = example.add_buffer(years),
                 buffer_call = example.add_buffer(std::vector<float>(kCount)),
                 buffer_put = example.add_buffer(std::vector<float>(kCount));
  example.dispatches = {{.kernel = "black_scholes",
                         .groups = {kCount / 256, 1, 1},
                         .group_size = {256, 1, 1},
                         .arguments = {buffer_spot, buffer_strike, buffer_years, buffer_call, buffer_put,
                                       scalar(kRate), scalar(kVolatility)}}};
  const Bound bound = {
      .absolute = 1e-4,
      .why = "1e-4: differences of two amounts up to 100 whose factors are within about 8 ulp"};
  example.expect(buffer_call, call, bound);
  example.expect(buffer_put, put, bound);
  return example;
}

}  // namespace lockstep::examples
