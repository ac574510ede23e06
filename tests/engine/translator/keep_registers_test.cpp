// What translated code holds in the host's registers is there behind calls of functions that it hardly ever
// calls, too (keep_registers.S, numeric/settle.h).
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/engine/translator/test_kernel.h"

namespace lockstep::translator {
namespace {

// Each round reads from another buffer than the one before it, so that the range is looked for anew. More
// sums than there are registers, of one element and its neighbours.
constexpr const char* kSums = R"(
#define SUM(n) s##n = s##n * 3 + (word >> n ^ other);
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20)
#define BEGIN(n) uint s##n = item + n;
#define ADD(n) all = all * 5 + s##n;
__kernel void sums(__global const uint* a, __global const uint* b, __global const uint* places, __global uint* out, uint rounds) {
  uint item = get_global_id(0), all = 0;
  EACH(BEGIN)
  for (uint i = 0; i < rounds; ++i) {
    __global const uint* from = i & 1 ? a : b;
    uint word = from[places[item] + i], other = from[item ^ i];
    if (!(word & 0x70)) continue;
    EACH(SUM)
  }
  EACH(ADD)
  out[item] = all;
}
// Through pointers that may be of any memory.
__kernel void anywhere(__global const uint* a, __global const uint* b, __global const uint* places, __global uint* out, uint rounds) {
  __local uint near[64];
  uint item = get_global_id(0), all = 0;
  near[item & 63] = item;
  barrier(CLK_LOCAL_MEM_FENCE);
  EACH(BEGIN)
  for (uint i = 0; i < rounds; ++i) {
    const uint* from = i % 3 == 0 ? (const uint*)near : i & 1 ? (const uint*)a : (const uint*)b;
    uint word = from[(places[item] + i) & 31], other = from[(item ^ i) & 63];
    EACH(SUM)
  }
  EACH(ADD)
  out[item] = all;
}
)";

// One chunk in 16 has a result next to a rounding border, which a function settles.
constexpr const char* kRoots = R"(
__kernel void settled(__global const uint* a, __global const uint* b, __global const uint* places, __global uint* out, uint rounds) {
  uint item = get_global_id(0), all = 0;
  EACH(BEGIN)
  for (uint i = 0; i < rounds; ++i) {
    float x = as_float((a[item + i] & 0xffffff) + 0x3f800000), y = as_float((b[item + i] & 0x7fffff) + 0x3f800000);
    uint word = as_uint(native_recip(x)) ^ as_uint(native_exp2(y));
    uint other = as_uint(native_rsqrt(x)) ^ as_uint(native_sqrt(y));
    EACH(SUM)
  }
  EACH(ADD)
  out[item] = all;
}
)";

TEST(KeepRegisters, WhereRangesAreLookedForAnewAndResultsAreSettled) {
  constexpr uint32_t kItems = 256, kRounds = 40;
  std::mt19937 random(1);
  const auto words = [&](size_t count, uint32_t below) {
    std::vector<uint32_t> values(count);
    for (uint32_t& value : values) value = below ? random() % below : random();
    Bytes bytes(count * 4);
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  };
  for (const unsigned wave_size : {32u, 64u}) {
    const Bytes code = compile(std::string(kSums) + kRoots, wave_size);
    for (const char* kernel : {"sums", "anywhere", "settled"})
      expect_same(code,
                  {{kernel,
                    {kItems, 1, 1},
                    {64, 1, 1},
                    {buffer(0), buffer(1), buffer(2), buffer(3), value(kRounds)},
                    0}},
                  {words(2 * kItems, 0), words(2 * kItems, 0), words(kItems, kItems), Bytes(kItems * 4)});
  }
}

}  // namespace
}  // namespace lockstep::translator
