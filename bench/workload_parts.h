// How the workloads of a set of kernels are written down.
#pragma once

#include <array>
#include <bit>
#include <concepts>

#include "bench/workload.h"

namespace lockstep::bench {

using Result = Workload::Result;

inline Workload make(const char* source, const char* kernel, std::array<uint32_t, 2> grid,
                     std::array<uint32_t, 2> group, Result kind) {
  Workload work;
  work.source = source;
  work.kernel = kernel;
  work.dimensions = grid[1] > 1 || group[1] > 1 ? 2 : 1;
  work.grid = {grid[0], grid[1], 1};
  work.group = {group[0], group[1], 1};
  work.kind = kind;
  return work;
}

inline void add(Workload& work, Words words) {
  work.buffer(std::move(words));
}
inline void add(Workload& work, std::integral auto number) {
  work.value(number);
}
inline void add(Workload& work, float number) {
  work.value(number);
}

// `result`: the number of the buffer that the kernel writes.
template <class... Arguments>
Workload with(Workload work, int result, Arguments... arguments) {
  (add(work, std::move(arguments)), ...);
  work.result = result;
  return work;
}

inline Words table(size_t count, uint32_t (*of)(uint32_t)) {
  Words words(count);
  for (uint32_t i = 0; i < count; ++i) words[i] = of(i);
  return words;
}

inline uint32_t bits(float value) {
  return std::bit_cast<uint32_t>(value);
}

inline Words random_doubles(size_t count, unsigned seed) {
  const Words floats = random_floats(count, seed);
  Words words;
  for (const uint32_t word : floats) {
    const auto value = std::bit_cast<uint64_t>(double{std::bit_cast<float>(word)});
    words.push_back(static_cast<uint32_t>(value));
    words.push_back(static_cast<uint32_t>(value >> 32));
  }
  return words;
}

inline constexpr uint32_t k1M = 1u << 20;

}  // namespace lockstep::bench
