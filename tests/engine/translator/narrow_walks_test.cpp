// Work-items that each walk through bytes or shorts of their own: 32 bytes of each are loaded ahead.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "engine/translator/walk_plan.h"
#include "tests/engine/translator/engine_pair.h"
#include "tests/engine/translator/test_kernel.h"

namespace lockstep::translator {
namespace {

constexpr uint32_t kItems = 200;  // the last wave is not full

Bytes random_bytes(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(count);
  for (std::byte& each : bytes) each = static_cast<std::byte>(random());
  return bytes;
}

TestDispatch dispatch(const std::string& kernel, std::vector<TestArgument> arguments) {
  return {kernel, {kItems, 1, 1}, {64, 1, 1}, std::move(arguments), 0};
}

// `index`: with signs compilers count addresses, else offsets, whose sums may come around.
std::string kernels_of(const std::string& index, const std::string& type) {
  const std::string head = "__kernel void ", name = "_" + index + "_" + type;
  return head + "rows" + name + "(__global const " + type + "* a, __global uint* y, " + index +
         " n, uint first) {\n"
         "  " +
         index +
         " row = get_global_id(0);\n"
         "  uint sum = 0;\n"
         "  for (" +
         index +
         " i = 0; i < n; ++i) sum = sum * 3 + a[row * n + i + first];\n"
         "  y[row] = sum;\n}\n" +
         // Each lane to an end of its own.
         head + "texts" + name + "(__global const " + type +
         "* a, __global uint* y, uint n) {\n"
         "  uint row = get_global_id(0), sum = 0;\n"
         "  for (" +
         index +
         " i = row * n; (a[i] & 31) != 7; ++i) sum = sum * 3 + a[i];\n"
         "  y[row] = sum;\n}\n" +
         // What it writes comes to be read so many rounds later.
         head + "behind" + name + "(__global " + type + "* a, __global uint* y, " + index + " n, " + index +
         " distance) {\n"
         "  " +
         index +
         " row = get_global_id(0), at = row * (n + distance);\n"
         "  uint sum = 0;\n"
         "  for (" +
         index +
         " i = 0; i < n; ++i) {\n"
         "    sum = sum * 3 + a[at + i];\n"
         "    a[at + i + distance] = sum;\n  }\n"
         "  y[row] = sum;\n}\n";
}

struct Form {
  const char* type;
  uint32_t bytes;
};
constexpr Form kForms[] = {{"char", 1}, {"uchar", 1}, {"short", 2}, {"ushort", 2}};

const Bytes& code() {
  static const Bytes bytes = [] {
    std::string source;
    for (const char* index : {"int", "uint"})
      for (const Form& form : kForms) source += kernels_of(index, form.type);
    return compile(source);
  }();
  return bytes;
}

void expect_same_of_all(const std::string& kernel, const auto& make) {
  for (const char* index : {"int", "uint"})
    for (const Form& form : kForms) make(kernel + "_" + index + "_" + form.type, form.bytes);
}

TEST(NarrowWalks, RowsOfAMatrix) {
  expect_same_of_all("rows", [](const std::string& kernel, uint32_t bytes) {
    // Up to, and beyond, what is loaded ahead; from places that are no multiples of a dword.
    for (const uint32_t n : {5u, 16u, 33u, 70u})
      for (const uint32_t first : {0u, 3u})
        expect_same(code(), {dispatch(kernel, {buffer(0), buffer(1), value(n), value(first)})},
                    {random_bytes((kItems * n + first) * bytes, n), Bytes(kItems * 4)});
  });
}

TEST(NarrowWalks, TextsOfSeveralLengths) {
  expect_same_of_all("texts", [](const std::string& kernel, uint32_t bytes) {
    const uint32_t n = 13;
    Bytes texts = random_bytes((kItems * n + 1) * bytes, 3);
    texts[kItems * n * bytes] = std::byte{7};
    expect_same(code(), {dispatch(kernel, {buffer(0), buffer(1), value(n)})}, {texts, Bytes(kItems * 4)});
  });
}

TEST(NarrowWalks, WhatTheWaveWritesIsSeen) {
  expect_same_of_all("behind", [](const std::string& kernel, uint32_t bytes) {
    for (const uint32_t distance : {0u, 1u, 15u, 32u}) {
      const uint32_t n = 50;
      expect_same(code(), {dispatch(kernel, {buffer(0), buffer(1), value(n), value(distance)})},
                  {random_bytes(kItems * (n + distance) * bytes, distance), Bytes(kItems * 4)});
    }
  });
}

std::vector<WalkingLoad> walks_of(const std::string& load, const std::string& step) {
  return find_walks(routine_of("again: " + load + "\ns_waitcnt vmcnt(0)\nv_add_nc_u32 v2, " + step +
                               ", v2\nv_cmp_ge_u32 s0, v2, v9\ns_and_not1_b32 exec_lo, exec_lo, s0\n"
                               "s_cbranch_execnz again"),
                    0);
}

TEST(NarrowWalks, GoOnByAnElement) {
  const auto is_certain = [](const std::string& load, const std::string& step) {
    const auto walks = walks_of(load, step);
    return walks.size() == 1 && walks[0].is_certain;
  };
  EXPECT_TRUE(is_certain("global_load_u8 v4, v2, s[4:5]", "1"));
  EXPECT_TRUE(is_certain("global_load_i8 v4, v2, s[4:5]", "1"));
  EXPECT_TRUE(is_certain("global_load_i16 v4, v2, s[4:5]", "2"));
  EXPECT_FALSE(is_certain("global_load_u8 v4, v2, s[4:5]", "2"));
  EXPECT_FALSE(is_certain("global_load_u16 v4, v2, s[4:5]", "1"));
  EXPECT_FALSE(is_certain("global_load_u8 v4, v2, s[4:5]", "4"));
  // Halves of registers, what is 3 words long, and what asks for a look past the caches.
  EXPECT_TRUE(walks_of("global_load_d16_u8 v4, v2, s[4:5]", "1").empty());
  EXPECT_TRUE(walks_of("global_load_d16_hi_b16 v4, v2, s[4:5]", "2").empty());
  EXPECT_TRUE(walks_of("global_load_b96 v[4:6], v2, s[4:5]", "12").empty());
  EXPECT_TRUE(walks_of("global_load_u8 v4, v2, s[4:5] glc", "1").empty());
}

// Of too many walks those of dwords are left.
TEST(NarrowWalks, GiveWayToThoseOfDwords) {
  std::string bytes, dwords;
  for (unsigned i = 0; i < 4; ++i) {
    const std::string at = "v2, s[4:5] offset:" + std::to_string(4 * i) + "\n";
    bytes += "global_load_u8 v" + std::to_string(10 + i) + ", " + at;
    dwords += "global_load_b32 v" + std::to_string(20 + i) + ", " + at;
  }
  EXPECT_EQ(walks_of(bytes, "4").size(), 4u);
  EXPECT_EQ(walks_of(dwords, "4").size(), 4u);
  EXPECT_EQ(walks_of(dwords + bytes, "4").size(), 4u);
  EXPECT_EQ(walks_of(dwords + dwords + bytes, "4").size(), 0u);
}

}  // namespace
}  // namespace lockstep::translator
