#include <cmath>
#include <complex>
#include <numbers>

#include "examples/examples.h"

namespace lockstep::examples {

namespace {

using Complex = std::complex<double>;

std::vector<Complex> transform(const std::vector<Complex>& input) {
  const size_t size = input.size();
  if (size == 1) return input;
  std::vector<Complex> even(size / 2), odd(size / 2), output(size);
  for (size_t i = 0; i < size / 2; ++i) {
    even[i] = input[2 * i];
    odd[i] = input[2 * i + 1];
  }
  even = transform(even);
  odd = transform(odd);
  for (size_t i = 0; i < size / 2; ++i) {
    const Complex twisted = odd[i] * std::polar(1.0, -2 * std::numbers::pi * double(i) / double(size));
    output[i] = even[i] + twisted;
    output[i + size / 2] = even[i] - twisted;
  }
  return output;
}

}  // namespace

Example fft(unsigned) {
  constexpr uint32_t kPoints = 1024, kBatches = 3;
  Random random(7);
  const auto input = random.vector(kBatches * kPoints * 2, [](Random& r) { return r.real(-1, 1); });
  std::vector<float> expected;
  for (uint32_t batch = 0; batch < kBatches; ++batch) {
    std::vector<Complex> points(kPoints);
    for (uint32_t i = 0; i < kPoints; ++i) {
      const float* const value = &input[(batch * kPoints + i) * 2];
      points[i] = Complex(value[0], value[1]);
    }
    for (const Complex& value : transform(points)) {
      expected.push_back(float(value.real()));
      expected.push_back(float(value.imag()));
    }
  }

  Example example{.name = "fft", .source = "fft/fft.cl"};
  const Argument buffer_input = example.add_buffer(input),
                 buffer_output = example.add_buffer(std::vector<float>(input.size()));
  example.dispatches = {{.kernel = "fft",
                         .groups = {kBatches, 1, 1},
                         .group_size = {256, 1, 1},
                         .arguments = {buffer_input, buffer_output}}};
  example.expect(
      buffer_output, expected,
      {.absolute = 2e-4,
       .why = "2e-4: ten passes of about 3 roundings and twiddles within 2 ulp, on results of about 26; the "
              "largest error a sound implementation shows is near 2e-5"});
  return example;
}

}  // namespace lockstep::examples
