// What loops in C++ take that are vectorised for this processor: the bound that translated code is measured
// against. Results are those of the kernels, but for roundings.
#include <array>
#include <cmath>

#include "bench/workload.h"

namespace lockstep::bench {
namespace {

using Lanes = float __attribute__((ext_vector_type(16)));
using LaneWords = int32_t __attribute__((ext_vector_type(16)));
using Buffers = std::vector<Pages>;

template <class T>
T number(const Workload& workload, size_t argument) {
  T value;
  std::memcpy(&value, workload.arguments.at(argument).value.data(), sizeof value);
  return value;
}

void saxpy(const Workload& workload, const Buffers& buffers) {
  const auto* x = reinterpret_cast<const float*>(buffers[0].get());
  auto* y = reinterpret_cast<float*>(buffers[1].get());
  const auto a = number<float>(workload, 2);
  const auto n = number<uint32_t>(workload, 3);
#pragma clang loop vectorize(assume_safety)
  for (uint32_t i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}

// Two registers of points at a time, until no point of them goes on.
void mandelbrot(const Workload& workload, const Buffers& buffers) {
  constexpr unsigned kParts = 2;
  const auto width = number<uint32_t>(workload, 1), height = number<uint32_t>(workload, 2),
             limit = number<uint32_t>(workload, 7);
  const auto x0 = number<float>(workload, 3), y0 = number<float>(workload, 4),
             dx = number<float>(workload, 5), dy = number<float>(workload, 6);
  LaneWords lane;
  for (int i = 0; i < 16; ++i) lane[i] = i;
  for (uint32_t py = 0; py < height; ++py)
    for (uint32_t px = 0; px + 16 * kParts <= width; px += 16 * kParts) {
      const Lanes cy = y0 + dy * static_cast<float>(py);
      std::array<Lanes, kParts> cx, zx{}, zy{};
      std::array<LaneWords, kParts> counts{}, on;
      for (unsigned part = 0; part < kParts; ++part) {
        cx[part] = x0 + dx * __builtin_convertvector(lane + static_cast<int>(px + 16 * part), Lanes);
        on[part] = LaneWords(-1);
      }
      for (uint32_t n = 0; n < limit; ++n) {
        for (unsigned part = 0; part < kParts; ++part) {
          const Lanes x2 = zx[part] * zx[part], y2 = zy[part] * zy[part];
          on[part] &= x2 + y2 <= 4.0f;
          counts[part] -= on[part];
          zy[part] = 2.0f * zx[part] * zy[part] + cy;
          zx[part] = x2 - y2 + cx[part];
        }
        if (__builtin_reduce_or(on[0] | on[1]) == 0) break;
      }
      for (unsigned part = 0; part < kParts; ++part)
        std::memcpy(buffers[0].get() + py * width + px + 16 * part, &counts[part], sizeof counts[part]);
    }
}

void nbody(const Workload& workload, const Buffers& buffers) {
  constexpr uint32_t kAtOnce = 32;
  const auto* bodies = reinterpret_cast<const float*>(buffers[0].get());
  auto* forces = reinterpret_cast<float*>(buffers[1].get());
  const auto n = number<uint32_t>(workload, 2);
  const auto softening = number<float>(workload, 3);
  for (uint32_t first = 0; first + kAtOnce <= n; first += kAtOnce) {
    alignas(64) float px[kAtOnce], py[kAtOnce], pz[kAtOnce], x[kAtOnce] = {}, y[kAtOnce] = {},
                                                             z[kAtOnce] = {};
    for (uint32_t k = 0; k < kAtOnce; ++k) {
      px[k] = bodies[4 * (first + k)];
      py[k] = bodies[4 * (first + k) + 1];
      pz[k] = bodies[4 * (first + k) + 2];
    }
    for (uint32_t j = 0; j < n; ++j) {
      const float qx = bodies[4 * j], qy = bodies[4 * j + 1], qz = bodies[4 * j + 2],
                  mass = bodies[4 * j + 3];
#pragma clang loop vectorize_width(16) unroll(full)
      for (uint32_t k = 0; k < kAtOnce; ++k) {
        const float dx = qx - px[k], dy = qy - py[k], dz = qz - pz[k];
        const float inverse = 1.0f / std::sqrt(dx * dx + dy * dy + dz * dz + softening);
        const float s = mass * inverse * inverse * inverse;
        x[k] += s * dx;
        y[k] += s * dy;
        z[k] += s * dz;
      }
    }
    for (uint32_t k = 0; k < kAtOnce; ++k) {
      const float force[] = {x[k], y[k], z[k], 0};
      std::memcpy(forces + 4 * (first + k), force, sizeof force);
    }
  }
}

// In four tables, so that the same number twice in a row does not wait.
void histogram(const Workload& workload, const Buffers& buffers) {
  std::array<std::array<uint32_t, 256>, 4> counts{};
  const size_t size = workload.buffers[0].size();
  for (size_t i = 0; i + 4 <= size; i += 4)
    for (size_t k = 0; k < 4; ++k) ++counts[k][buffers[0][i + k] >> 8 & 255];
  for (size_t i = 0; i < 256; ++i) buffers[1][i] += counts[0][i] + counts[1][i] + counts[2][i] + counts[3][i];
}

void hash64(const Workload& workload, const Buffers& buffers) {
  constexpr uint32_t kAtOnce = 32;
  const auto seed = number<uint64_t>(workload, 1);
  const auto rounds = number<uint32_t>(workload, 2);
  for (uint32_t first = 0; first + kAtOnce <= workload.grid[0]; first += kAtOnce) {
    alignas(64) uint64_t x[kAtOnce], sum[kAtOnce] = {};
    for (uint32_t k = 0; k < kAtOnce; ++k) x[k] = seed + (first + k) * uint64_t{0x9E3779B97F4A7C15};
    for (uint32_t round = 0; round < rounds; ++round) {
#pragma clang loop vectorize_width(8) unroll(full)
      for (uint32_t k = 0; k < kAtOnce; ++k) {
        uint64_t v = x[k];
        v ^= v >> 30;
        v *= 0xBF58476D1CE4E5B9;
        v ^= v >> 27;
        v *= 0x94D049BB133111EB;
        v ^= v >> 31;
        uint64_t s = (sum[k] << 7 | sum[k] >> 57) ^ (v + round);
        s += static_cast<uint64_t>(__builtin_popcount(static_cast<uint32_t>(v))) << (v & 15);
        x[k] = v;
        sum[k] = s;
      }
    }
    std::memcpy(buffers[0].get() + 2 * first, sum, sizeof sum);
  }
}

constexpr struct {
  const char* kernel;
  void (*run)(const Workload& workload, const Buffers& buffers);
} kLoops[] = {{"saxpy", saxpy},
              {"mandelbrot", mandelbrot},
              {"nbody", nbody},
              {"histogram", histogram},
              {"hash64", hash64}};

class HandRunner final : public Runner {
 public:
  HandRunner(const Workload& workload, void (*loop)(const Workload&, const Buffers&))
      : workload_(workload), loop_(loop) {
    for (const Words& contents : workload.buffers) buffers_.push_back(in_pages(contents));
  }

  void run() override { loop_(workload_, buffers_); }
  Words result() override {
    const auto number = static_cast<size_t>(workload_.result);
    const uint32_t* words = buffers_[number].get();
    return {words, words + workload_.buffers[number].size()};
  }

 private:
  const Workload& workload_;
  void (*loop_)(const Workload&, const Buffers&);
  Buffers buffers_;
};

}  // namespace

std::unique_ptr<Runner> hand_runner(const Workload& workload) {
  for (const auto& loop : kLoops)
    if (workload.kernel == loop.kernel) return std::make_unique<HandRunner>(workload, loop.run);
  return nullptr;
}

}  // namespace lockstep::bench
