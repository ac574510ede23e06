// Work-groups whose rows are shorter than a chunk of lanes: each row is moved at once where its lanes are
// side by side.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/engine/translator/test_kernel.h"

namespace lockstep::translator {
namespace {

// `at` is the item's place in a grid of `pitch` items a row and `slice` a layer.
constexpr const char* kSource = R"(
#define KERNEL __kernel __attribute__((reqd_work_group_size(X, Y, Z)))
#define PLACE int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2), at = z * slice + y * pitch + x;
KERNEL void copy(__global uint* out, __global const uint* in, int pitch, int slice) {
  PLACE
  out[at] = in[at] * 3 + 1;
}
// Neighbours of those that have one: at the edges lanes are off.
KERNEL void neighbours(__global uint* out, __global const uint* in, int pitch, int slice) {
  PLACE
  uint sum = in[at];
  if (x > 0) sum += in[at - 1] << 1;
  if (x < pitch - 1) sum += in[at + 1] << 2;
  if (y > 0) sum += in[at - pitch] << 3;
  if (z > 0) sum += in[at - slice] << 4;
  if ((in[at] & 7) != 0) sum += in[at ^ 1];
  out[at] = sum;
}
// Two, three and four dwords of each.
KERNEL void pairs(__global uint2* out, __global const uint2* in, int pitch, int slice) {
  PLACE
  out[at] = in[at].yx + (uint2)(x, y);
}
KERNEL void threes(__global uint* out, __global const uint* in, int pitch, int slice) {
  PLACE
  uint3 v = vload3(at, in);
  vstore3(v.zxy + (uint3)(x, y, z), at, out);
}
KERNEL void fours(__global uint4* out, __global const uint4* in, int pitch, int slice) {
  PLACE
  out[at] = in[at].wzyx + (uint4)(x, y, z, 1);
}
// Rows that lanes store on top of each other's, of which the last lane's remain.
KERNEL void on_top(__global uint* out, __global const uint* in, int pitch, int slice) {
  PLACE
  out[get_local_id(1) * (X - 1) + get_local_id(0)] = in[at];
}
// Lanes in another order, and rows that lie elsewhere.
KERNEL void apart(__global uint* out, __global const uint* in, int pitch, int slice) {
  PLACE
  out[x * pitch + y] = in[at ^ 1] + in[(y & 1 ? 2 * x : x) % pitch];
}
// Rows of lanes of which only some are on, and those that are off have addresses of before.
KERNEL void some(__global uint* out, __global const uint* in, int pitch, int slice) {
  PLACE
  uint sum = 0;
  for (int k = 0; k < 3; ++k)
    if ((x + k) % 3 != 0) {
      int place = (at + k * pitch) % (slice * 2);
      sum = sum * 5 + in[place];
      out[place] = sum;
    }
}
// One element for all items of a row, which is another one for the next row of the wave.
KERNEL void of_row(__global uint* out, __global const uint* in, int pitch, int slice) {
  PLACE
  out[at] = in[y] + in[z * 3] * 5;
}
// Up to the last item, and in rows of other kinds of elements.
KERNEL void parts(__global uchar* out, __global const ushort* in, int pitch, int slice) {
  PLACE
  out[at] = in[at] >> 3;
}
// Loops in which rows go on.
KERNEL void sums(__global uint* out, __global const uint* in, int pitch, int slice) {
  PLACE
  uint sum = 0;
  for (int k = 0; k < pitch; ++k) sum = sum * 7 + in[z * slice + k * pitch % slice + x] + in[z * slice + y * pitch + k];
  out[at] = sum;
}
)";

void expect_same_of(std::array<uint32_t, 3> group, unsigned wave_size) {
  std::vector<std::string> flags;
  for (unsigned i = 0; i < 3; ++i)
    flags.push_back(std::string("-D") + "XYZ"[i] + "=" + std::to_string(group[i]));
  const Bytes code = compile(kSource, wave_size, 3, flags);
  std::array<uint32_t, 3> grid{};
  for (unsigned i = 0; i < 3; ++i) grid[i] = group[i] * 3;
  const uint32_t pitch = grid[0], slice = pitch * grid[1], items = slice * grid[2];
  // Exactly as long as the grid: what reads behind a row's end at the end of memory is a fault.
  Bytes in(size_t{items} * 16);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(i * i / 7 + i / 3);
  const auto dispatch = [&](const std::string& kernel, size_t bytes) {
    const TestDispatch each{
        kernel,
        grid,
        group,
        {buffer(0), buffer(1), value(static_cast<int>(pitch)), value(static_cast<int>(slice))}};
    SCOPED_TRACE(kernel + " in groups of " + std::to_string(group[0]) + " x " + std::to_string(group[1]) +
                 " x " + std::to_string(group[2]));
    const Bytes source(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(items * bytes));
    const TestResult result = expect_same(code, {each}, {Bytes(items * bytes), source});
    EXPECT_FALSE(result.outcome.fault);
  };
  for (const char* kernel : {"copy", "neighbours", "on_top", "some", "sums", "of_row"}) dispatch(kernel, 4);
  dispatch("pairs", 8);
  dispatch("threes", 12);
  dispatch("fours", 16);
  dispatch("parts", 2);
  if (grid[0] == grid[1] && grid[2] == group[2]) dispatch("apart", 4);
}

TEST(ShortRows, OfEight) {
  for (const auto group : {std::array<uint32_t, 3>{8, 4, 4}, {24, 4, 1}}) expect_same_of(group, 32);
  expect_same_of({8, 8, 1}, 64);
}

TEST(ShortRows, OfFour) {
  for (const auto group : {std::array<uint32_t, 3>{4, 4, 4}, {12, 8, 1}}) expect_same_of(group, 32);
  expect_same_of({4, 4, 4}, 64);
}

// Of two, of one and of odd lengths nothing is moved at once; nor are waves that are not full.
TEST(ShortRows, OfOtherLengths) {
  for (const auto group : {std::array<uint32_t, 3>{2, 16, 1}, {10, 10, 1}, {8, 3, 1}})
    expect_same_of(group, 32);
}

}  // namespace
}  // namespace lockstep::translator
