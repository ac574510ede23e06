#include <algorithm>
#include <cstdlib>

#include "examples/examples.h"

namespace lockstep::examples {

namespace {

// Element `index` of `bits` bits of a word.
int64_t element(uint32_t word, int bits, int index, bool is_signed) {
  const uint32_t value = word >> bits * index << (32 - bits);
  return is_signed ? int64_t(int32_t(value) >> (32 - bits)) : int64_t(value >> (32 - bits));
}

int64_t dot(uint32_t a, bool signed_a, uint32_t b, bool signed_b, int bits) {
  int64_t sum = 0;
  for (int i = 0; i < 32 / bits; ++i) sum += element(a, bits, i, signed_a) * element(b, bits, i, signed_b);
  return sum;
}

int32_t clamp_signed(int64_t value) {
  return int32_t(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX));
}

// v_perm_b32 as far as the selectors of the kernel go: 0 to 3 bytes of the second word, 4 to 7 of the first,
// 12 zero.
uint32_t permute(uint32_t first, uint32_t second, uint32_t selectors) {
  const uint64_t both = uint64_t(first) << 32 | second;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t selector = selectors >> 8 * i & 255;
    if (selector < 8) result |= uint32_t(both >> 8 * selector & 255) << 8 * i;
  }
  return result;
}

// Sum of absolute differences of bytes, those where the second is zero left out.
uint32_t masked_difference(uint32_t a, uint32_t b, uint32_t sum) {
  for (int i = 0; i < 4; ++i)
    if (element(b, 8, i, false) != 0)
      sum += uint32_t(std::llabs(element(a, 8, i, false) - element(b, 8, i, false)));
  return sum;
}

}  // namespace

Example dot_product(unsigned) {
  constexpr uint32_t kCount = 256, kGroup = 128;
  Random random(21);
  const auto a = random.vector(kCount, [](Random& r) { return r.word(); });
  const auto b =
      random.vector(kCount, [](Random& r) { return r.below(3) == 0 ? r.word() & 0xff00ffffu : r.word(); });
  std::vector<int32_t> expected(8 * kCount);
  for (uint32_t i = 0; i < kCount; ++i) {
    const uint32_t x = a[i], y = b[i], sum = x ^ y;
    const uint64_t unsigned_dot = uint64_t(dot(x, false, y, false, 4)) + sum;
    const int32_t results[8] = {
        int32_t(uint32_t(dot(x, true, y, true, 8)) + sum),
        clamp_signed(dot(x, false, y, true, 8) + int32_t(sum)),
        int32_t(uint32_t(dot(x, false, y, false, 8)) + sum),
        int32_t(uint32_t(dot(x, true, y, true, 4)) + sum),
        clamp_signed(dot(x, true, y, false, 4) + int32_t(sum)),
        int32_t(uint32_t(std::min<uint64_t>(unsigned_dot, UINT32_MAX))),
        int32_t(permute(x, y, 0x0c010700u + (i & 3))),
        int32_t(masked_difference(x, y, sum)),
    };
    for (int n = 0; n < 8; ++n) expected[n * kCount + i] = results[n];
  }
  const auto quarter = [](Random& r) { return _Float16(float(r.below(33)) * 0.25f); };
  const auto halves_a = random.vector(2 * kCount, quarter), halves_b = random.vector(2 * kCount, quarter);
  std::vector<float> expected_halves(kCount);
  for (uint32_t i = 0; i < kCount; ++i)
    expected_halves[i] = float(halves_a[2 * i]) * float(halves_b[2 * i]) +
                         float(halves_a[2 * i + 1]) * float(halves_b[2 * i + 1]) + float(halves_a[2 * i]);

  Example example{.name = "dot_product", .language = Language::hip, .source = "dot_product/dot_product.hip"};
  const Argument buffer_a = example.add_buffer(a), buffer_b = example.add_buffer(b),
                 buffer_out = example.add_buffer(std::vector<int32_t>(expected.size())),
                 buffer_halves_a = example.add_buffer(halves_a),
                 buffer_halves_b = example.add_buffer(halves_b),
                 buffer_sums = example.add_buffer(std::vector<float>(kCount));
  example.dispatches = {{.kernel = "dot_integers",
                         .groups = {kCount / kGroup, 1, 1},
                         .group_size = {kGroup, 1, 1},
                         .arguments = {buffer_a, buffer_b, buffer_out, scalar(int32_t(kCount))}},
                        {.kernel = "dot_halves",
                         .groups = {kCount / kGroup, 1, 1},
                         .group_size = {kGroup, 1, 1},
                         .arguments = {buffer_halves_a, buffer_halves_b, buffer_sums}}};
  example.expect(buffer_out, expected);
  example.expect(buffer_sums, expected_halves);
  return example;
}

}  // namespace lockstep::examples
