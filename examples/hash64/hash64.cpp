#include <bit>

#include "examples/examples.h"

namespace lockstep::examples {

namespace {

uint64_t hash(uint64_t seed, uint32_t index, uint32_t rounds) {
  uint64_t x = seed + index * 0x9E3779B97F4A7C15u, sum = 0;
  for (uint32_t round = 0; round < rounds; ++round) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    x ^= x >> 31;
    sum = std::rotl(sum, 7) ^ (x + round);
    sum += uint64_t(std::popcount(uint32_t(x))) << (x & 15);
    const auto high = uint64_t((unsigned __int128)x * sum >> 64);
    sum ^= uint64_t(std::countl_zero(x)) + high;
  }
  return sum;
}

}  // namespace

Example hash64(unsigned) {
  constexpr uint32_t kCount = 1024, kRounds = 40;
  constexpr uint64_t kSeed = 0x0123456789abcdefu;
  std::vector<uint64_t> expected(kCount);
  for (uint32_t i = 0; i < kCount; ++i) expected[i] = hash(kSeed, i, kRounds);

  Example example{.name = "hash64", .source = "hash64/hash64.cl"};
  const Argument buffer = example.add_buffer(std::vector<uint64_t>(kCount));
  example.dispatches = {{.kernel = "hash64",
                         .groups = {kCount / 256, 1, 1},
                         .group_size = {256, 1, 1},
                         .arguments = {buffer, scalar(kSeed), scalar(kRounds)}}};
  example.expect(buffer, expected);
  return example;
}

}  // namespace lockstep::examples
