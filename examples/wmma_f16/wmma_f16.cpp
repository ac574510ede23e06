#include "examples/examples.h"

namespace lockstep::examples {

namespace {

constexpr uint32_t kM = 48, kN = 96, kK = 64, kGroup = 128;

// Runs both kernels on matrices of multiples of a quarter, chosen so that every product and sum is exact in
// 16 bits.
void add(Example& example, unsigned wave_size, const std::vector<_Float16>& a, const std::vector<_Float16>& b,
         const Bound& float_bound, const Bound& half_bound) {
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
  const Argument buffer_a = example.add_buffer(a), buffer_b = example.add_buffer(b),
                 buffer_c = example.add_buffer(std::vector<float>(kM * kN)),
                 buffer_low = example.add_buffer(std::vector<_Float16>(kM * kN)),
                 buffer_high = example.add_buffer(std::vector<_Float16>(kM * kN));
  example.dispatches.push_back({.kernel = "wmma_f16_f32",
                                .groups = groups,
                                .group_size = {kGroup, 1, 1},
                                .arguments = {buffer_a, buffer_b, buffer_c, scalar(kN), scalar(kK)}});
  example.dispatches.push_back(
      {.kernel = "wmma_f16_f16",
       .groups = groups,
       .group_size = {kGroup, 1, 1},
       .arguments = {buffer_a, buffer_b, buffer_low, buffer_high, scalar(kN), scalar(kK)}});
  example.expect(buffer_c, expected, float_bound);
  example.expect(buffer_low, expected_half, half_bound);
  example.expect(buffer_high, expected_half, half_bound);
}

}  // namespace

Example wmma_f16(unsigned wave_size) {
  Random random(12);
  const auto positive = [](Random& r) { return _Float16(float(r.below(5)) * 0.25f); };
  const auto any = [](Random& r) { return _Float16((float(r.below(9)) - 4) * 0.25f); };
  Example example{.name = "wmma_f16", .language = Language::hip, .source = "wmma_f16/wmma_f16.hip"};
  const auto positive_a = random.vector(kM * kK, positive), positive_b = random.vector(kN * kK, positive);
  add(example, wave_size, positive_a, positive_b, {}, {});

  // The adder of gfx11 negates an addend by inverting its bits: each product whose sign opposes the running
  // sum counts one unit too much, 2^-24 of the largest exponent in the sum.
  const auto any_a = random.vector(kM * kK, any), any_b = random.vector(kN * kK, any);
  const double units = kK * 0x1p-24 * 32;  // no sum reaches 32
  add(example, wave_size, any_a, any_b,
      {.absolute = 2 * units,
       .why = "one unit for each of the products, and as much for the rounding of each step"},
      {.absolute = 2 * units,
       .relative = 0x1p-10,
       .why = "as for 32 bits, and one unit of the 16-bit result"});
  return example;
}

}  // namespace lockstep::examples
