#include "examples/examples.h"

namespace lockstep::examples {

namespace {

constexpr uint32_t kM = 32, kN = 96, kK = 64;

template <class Left, class Right>
std::vector<int32_t> multiply(Left left, Right right) {
  std::vector<int32_t> c(kM * kN);
  for (uint32_t row = 0; row < kM; ++row)
    for (uint32_t column = 0; column < kN; ++column)
      for (uint32_t i = 0; i < kK; ++i) c[row * kN + column] += left(row * kK + i) * right(column * kK + i);
  return c;
}

}  // namespace

Example wmma_iu8(unsigned wave_size) {
  constexpr uint32_t kGroup = 128;
  Random random(13);
  const auto a = random.vector(kM * kK, [](Random& r) { return uint8_t(r.word() >> 24); });
  const auto b = random.vector(kN * kK, [](Random& r) { return uint8_t(r.word() >> 24); });
  const auto signed_a = [&a](uint32_t i) { return int(int8_t(a[i])); };
  const auto unsigned_a = [&a](uint32_t i) { return int(a[i]); };
  const auto signed_b = [&b](uint32_t i) { return int(int8_t(b[i])); };
  // 4-bit element i is the low half of byte i / 2 for even i, else the high half.
  const auto nibble = [](const std::vector<uint8_t>& bytes, uint32_t i) {
    return int(int8_t(uint8_t(bytes[i / 2] >> i % 2 * 4 << 4))) >> 4;
  };
  const auto nibble_a = [&](uint32_t i) { return nibble(a, i); };
  const auto nibble_b = [&](uint32_t i) { return nibble(b, i); };

  const uint32_t tiles_per_group = kGroup / wave_size;
  Example example{.name = "wmma_iu8", .language = Language::hip, .source = "wmma_iu8/wmma_iu8.hip"};
  const Argument buffer_a = example.add_buffer(a), buffer_b = example.add_buffer(b);
  const auto add = [&](const char* kernel, const std::vector<int32_t>& expected) {
    const Argument buffer_c = example.add_buffer(std::vector<int32_t>(kM * kN));
    example.dispatches.push_back({.kernel = kernel,
                                  .groups = {(kN / 16 + tiles_per_group - 1) / tiles_per_group, kM / 16, 1},
                                  .group_size = {kGroup, 1, 1},
                                  .arguments = {buffer_a, buffer_b, buffer_c, scalar(kN), scalar(kK)}});
    example.expect(buffer_c, expected);
  };
  add("wmma_iu8_signed", multiply(signed_a, signed_b));
  add("wmma_iu8_mixed", multiply(unsigned_a, signed_b));
  add("wmma_iu4_signed", multiply(nibble_a, nibble_b));
  return example;
}

}  // namespace lockstep::examples
