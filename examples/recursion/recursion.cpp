#include <cmath>

#include "examples/examples.h"

namespace lockstep::examples {

namespace {

float integrand(float x, float sharpness) {
  float bump = std::fma(-sharpness, x * x, 1.0f);
  bump = bump < 0.0f ? 0.0f : bump;
  return std::fma(x, std::fma(x, 0.25f, -0.5f), bump * bump * bump);
}

float integrate(float left, float right, float f_left, float f_middle, float f_right, float whole,
                float sharpness, int depth, int* calls) {
  ++*calls;
  const float middle = 0.5f * (left + right), width = right - left;
  const float f_quarter = integrand(0.5f * (left + middle), sharpness);
  const float f_three_quarters = integrand(0.5f * (middle + right), sharpness);
  const float first = width * 0.0833333358f * (std::fma(4.0f, f_quarter, f_left) + f_middle);
  const float second = width * 0.0833333358f * (std::fma(4.0f, f_three_quarters, f_middle) + f_right);
  const float both = first + second, error = both - whole;
  if (depth == 0 || (error < 1e-4f && error > -1e-4f)) return both;
  const float low = integrate(left, middle, f_left, f_quarter, f_middle, first, sharpness, depth - 1, calls);
  const float high =
      integrate(middle, right, f_middle, f_three_quarters, f_right, second, sharpness, depth - 1, calls);
  return low + high;
}

uint32_t walk(uint32_t value, uint32_t depth) {
  if (value <= 1 || depth == 0) return value;
  return walk(value & 1 ? 3 * value + 1 : value >> 1, depth - 1) + 1;
}

}  // namespace

Example recursion(unsigned) {
  constexpr uint32_t kCount = 128, kGroup = 64, kDepth = 48;
  Random random(14);
  const auto sharpness = random.vector(kCount, [](Random& r) { return r.real(0.5f, 40.0f); });
  const auto start = random.vector(kCount, [](Random& r) { return 1 + r.below(100000); });
  std::vector<float> area(kCount);
  std::vector<int32_t> calls(kCount);
  std::vector<uint32_t> length(kCount);
  for (uint32_t i = 0; i < kCount; ++i) {
    const float s = sharpness[i];
    const float f_left = integrand(-2, s), f_middle = integrand(0, s), f_right = integrand(2, s);
    const float whole = 0.666666687f * (std::fma(4.0f, f_middle, f_left) + f_right);
    area[i] = integrate(-2, 2, f_left, f_middle, f_right, whole, s, 10, &calls[i]);
    length[i] = walk(start[i], kDepth);
  }

  Example example{.name = "recursion", .language = Language::hip, .source = "recursion/recursion.hip"};
  const Argument buffer_sharpness = example.add_buffer(sharpness),
                 buffer_area = example.add_buffer(std::vector<float>(kCount)),
                 buffer_calls = example.add_buffer(std::vector<int32_t>(kCount)),
                 buffer_start = example.add_buffer(start),
                 buffer_length = example.add_buffer(std::vector<uint32_t>(kCount));
  example.dispatches = {{.kernel = "recursion_integrate",
                         .groups = {kCount / kGroup, 1, 1},
                         .group_size = {kGroup, 1, 1},
                         .arguments = {buffer_sharpness, buffer_area, buffer_calls}},
                        {.kernel = "recursion_collatz",
                         .groups = {kCount / kGroup, 1, 1},
                         .group_size = {kGroup, 1, 1},
                         .arguments = {buffer_start, buffer_length, scalar(kDepth)}}};
  example.expect(buffer_area, area);
  example.expect(buffer_calls, calls);
  example.expect(buffer_length, length);
  return example;
}

}  // namespace lockstep::examples
