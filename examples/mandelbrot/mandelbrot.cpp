#include <cmath>

#include "examples/examples.h"

namespace lockstep::examples {

namespace {

struct Orbit {
  uint32_t count;
  float x, y;
};

Orbit escape(float cx, float cy, uint32_t limit) {
  Orbit orbit{0, 0, 0};
  while (orbit.count < limit) {
    const float xx = orbit.x * orbit.x, yy = orbit.y * orbit.y;
    if (xx + yy > 4.0f) break;
    orbit.y = std::fma(2.0f * orbit.x, orbit.y, cy);
    orbit.x = xx - yy + cx;
    ++orbit.count;
  }
  return orbit;
}

constexpr float kPalette[6][3] = {{0.02f, 0.03f, 0.18f}, {0.06f, 0.36f, 0.72f}, {0.88f, 0.97f, 1.00f},
                                  {1.00f, 0.78f, 0.28f}, {0.72f, 0.22f, 0.06f}, {0.16f, 0.03f, 0.16f}};

uint32_t colour(Orbit orbit, float cx, float cy, uint32_t limit) {
  if (orbit.count >= limit) return 0xff000000u;
  for (int i = 0; i < 3; ++i) {
    const float x = std::fma(orbit.x, orbit.x, std::fma(-orbit.y, orbit.y, cx));
    orbit.y = std::fma(2.0f * orbit.x, orbit.y, cy);
    orbit.x = x;
  }
  const float radius2 = std::fma(orbit.x, orbit.x, orbit.y * orbit.y);
  const float smooth_count = float(orbit.count + 4) - std::log2(0.5f * std::log2(radius2));
  const float position = std::fma(1.45f, std::log2(std::fmax(smooth_count, 2.0f)), -1.3f);
  const float cell = std::floor(position), t = position - cell, blend = t * t * std::fma(-2.0f, t, 3.0f);
  const uint32_t from = uint32_t(cell) % 6, to = (from + 1) % 6;
  uint32_t pixel = 0xff000000u;
  for (int channel = 0; channel < 3; ++channel) {
    const float value =
        std::fma(blend, kPalette[to][channel] - kPalette[from][channel], kPalette[from][channel]);
    pixel |= uint32_t(std::fma(value, 255.0f, 0.5f)) << 8 * channel;
  }
  return pixel;
}

}  // namespace

Example mandelbrot(unsigned) {
  constexpr uint32_t kWidth = 100, kHeight = 50, kLimit = 256;  // the groups at the edges are partly outside
  constexpr float kLeft = -2.2f, kTop = -0.75f, kStep = 0.03f;
  std::vector<uint32_t> counts(kWidth * kHeight);
  std::vector<uint8_t> picture;
  for (uint32_t py = 0; py < kHeight; ++py)
    for (uint32_t px = 0; px < kWidth; ++px) {
      const float cx = std::fma(kStep, float(px), kLeft), cy = std::fma(kStep, float(py), kTop);
      const Orbit orbit = escape(cx, cy, kLimit);
      counts[py * kWidth + px] = orbit.count;
      const uint32_t pixel = colour(orbit, cx, cy, kLimit);
      for (int shift = 0; shift < 32; shift += 8) picture.push_back(uint8_t(pixel >> shift));
    }

  Example example{.name = "mandelbrot", .source = "mandelbrot/mandelbrot.cl"};
  const Argument buffer_counts = example.add_buffer(std::vector<uint32_t>(kWidth * kHeight)),
                 buffer_picture = example.add_buffer(std::vector<uint8_t>(kWidth * kHeight * 4));
  const auto dispatch = [&](const char* kernel, const Argument& out) {
    example.dispatches.push_back({.kernel = kernel,
                                  .groups = {(kWidth + 31) / 32, (kHeight + 7) / 8, 1},
                                  .group_size = {32, 8, 1},
                                  .arguments = {out, scalar(kWidth), scalar(kHeight), scalar(kLeft),
                                                scalar(kTop), scalar(kStep), scalar(kStep), scalar(kLimit)}});
  };
  dispatch("mandelbrot_iterations", buffer_counts);
  dispatch("mandelbrot", buffer_picture);
  example.expect(buffer_counts, counts);
  example.expect(
      buffer_picture, picture,
      {.absolute = 1,
       .why = "one level of 255: v_log_f32 is within 1 ulp, which can move a colour over a rounding edge"});
  return example;
}

}  // namespace lockstep::examples
