#include "bench/workload.h"

#include <random>

namespace lockstep::bench {
namespace {

std::vector<float> random_floats(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random() >> 8) / 16777216.0f - 0.5f;
  return values;
}

}  // namespace

Workload saxpy() {
  constexpr uint32_t kElements = 1u << 24;
  Workload work;
  work.kernel = "saxpy";
  work.grid = {kElements, 1, 1};
  work.group = {256, 1, 1};
  work.buffers = {random_floats(kElements, 1), random_floats(kElements, 2)};
  work.buffer(0);
  work.buffer(1);
  work.value(0.5f);
  work.value(kElements);
  work.result = 1;
  work.accumulates = true;
  return work;
}

Workload mandelbrot() {
  constexpr uint32_t kSize = 1024, kLimit = 256;
  Workload work;
  work.kernel = "mandelbrot";
  work.dimensions = 2;
  work.grid = {kSize, kSize, 1};
  work.group = {32, 8, 1};
  work.buffers = {std::vector<float>(kSize * kSize)};
  work.buffer(0);
  work.value(kSize);
  work.value(kSize);
  work.value(-2.0f);
  work.value(-1.25f);
  work.value(2.5f / kSize);
  work.value(2.5f / kSize);
  work.value(kLimit);
  return work;
}

Workload sgemm() {
  constexpr uint32_t kSize = 512;
  Workload work;
  work.kernel = "sgemm";
  work.dimensions = 2;
  work.grid = {kSize, kSize, 1};
  work.group = {16, 16, 1};
  work.buffers = {random_floats(kSize * kSize, 3), random_floats(kSize * kSize, 4),
                  std::vector<float>(kSize * kSize)};
  work.buffer(0);
  work.buffer(1);
  work.buffer(2);
  work.value(kSize);
  work.value(kSize);
  work.result = 2;
  return work;
}

}  // namespace lockstep::bench
