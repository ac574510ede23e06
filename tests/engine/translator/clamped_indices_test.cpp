// Indices that are kept inside of an array: linear but at its edges, and where they pass the ends of their
// type.
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "tests/engine/translator/test_kernel.h"

namespace lockstep::translator {
namespace {

constexpr const char* kSource = R"(
__kernel void signed_edges(__global uint* out, __global const uint* in, int w, int h, int dx, int dy) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= w || y >= h) return;
  out[y * w + x] = in[clamp(y + dy, 0, h - 1) * w + clamp(x + dx, 0, w - 1)] + in[min(x + dx, w - 1) & 255] +
                   in[max(x - dx, 3) & 255];
}
__kernel void unsigned_edges(__global uint* out, __global const uint* in, uint w, uint h, uint dx, uint dy) {
  uint x = get_global_id(0), y = get_global_id(1);
  if (x >= w || y >= h) return;
  out[y * w + x] = in[min(max(y + dy, 2u), h - 1) * w + min(max(x + dx, 5u), w - 1)] + in[min(x + dx, 200u)] +
                   in[max(x + dx, 7u) & 255];
}
__kernel void constants(__global uint* out, __global const uint* in, int w, int h, int dx, int dy) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= w || y >= h) return;
  out[y * w + x] = in[clamp(x + dx, 4, 60)] + in[clamp((uint)(x + dx), 9u, 70u)] + in[max(min(x + dy, 50), 1)] +
                   in[max(min((uint)(x + dy), 55u), 2u)] + in[clamp(x * 2 + dx, 1, 99)] + in[clamp(-x + 40, 0, 90)];
}
)";

TEST(ClampedIndices, AreThoseOfTheInterpreter) {
  for (const unsigned wave_size : {32u, 64u}) {
    const Bytes code = compile(kSource, wave_size);
    for (const char* kernel : {"signed_edges", "unsigned_edges", "constants"})
      for (const auto [w, h] : {std::pair{64u, 6u}, {45u, 9u}, {128u, 3u}})
        for (const std::array<uint32_t, 3> group : {std::array{16u, 4u, 1u}, {32u, 2u, 1u}, {64u, 1u, 1u}})
          for (const auto [dx, dy] :
               {std::pair{0u, 0u}, {2u, ~0u}, {~4u, 1u}, {0x7fffffe0u, 0x80000005u}, {~20u, 3u}})
            expect_same(
                code,
                {{kernel,
                  {(w + group[0] - 1) / group[0] * group[0], (h + group[1] - 1) / group[1] * group[1], 1},
                  group,
                  {buffer(0), buffer(1), value(w), value(h), value(dx), value(dy)},
                  0}},
                {Bytes(w * h * 4), random_words(1024, 40)});
  }
}

}  // namespace
}  // namespace lockstep::translator
