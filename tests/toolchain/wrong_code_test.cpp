// Constructs of which LLVM 19 makes wrong code (docs/kernel-fuzzing.md), at every level of optimisation and
// in both wave sizes, against the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <lockstep.hpp>
#include <string>
#include <utility>
#include <vector>

namespace {

class WrongCode : public testing::TestWithParam<std::array<uint32_t, 2>> {
 protected:
  // `statements` store in o[i] what `expected` makes of the item's inputs.
  void expect(const std::string& statements, std::function<uint64_t(uint64_t x, uint64_t y)> expected) {
    cases_.push_back({statements, std::move(expected)});
  }

  // One source for all cases of a test: nearly all of the time is the compiler's.
  void TearDown() override {
    std::string source = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n";
    for (size_t i = 0; i < cases_.size(); ++i)
      source += "__kernel void f" + std::to_string(i) +
                "(__global const ulong* x, __global const ulong* y, __global ulong* o) {\n"
                "  const uint i = get_global_id(0);\n" +
                cases_[i].statements + "}\n";
    lockstep_compile_options options;
    lockstep_compile_options_init(&options);
    options.optimization = GetParam()[0];
    options.wave_size = GetParam()[1];
    const auto code = lockstep::CodeObject::compile(LOCKSTEP_OPENCL, source, "test.cl", &options);
    EXPECT_STREQ(code.diagnostics(), "");
    lockstep::Device device;
    auto x = device.allocate<uint64_t>(kItems), y = device.allocate<uint64_t>(kItems),
         o = device.allocate<uint64_t>(kItems);
    for (unsigned i = 0; i < kItems; ++i) {
      x[i] = x_of(i);
      y[i] = y_of(i);
    }
    for (size_t i = 0; i < cases_.size(); ++i) {
      const lockstep::Kernel kernel = code.kernel("f" + std::to_string(i));
      lockstep::Arguments arguments(kernel);
      arguments.set(0u, x).set(1u, y).set(2u, o);
      device.run(kernel, arguments, {kItems}, {kItems});
      unsigned wrong = 0;
      for (unsigned item = 0; item < kItems; ++item) wrong += o[item] != cases_[i].expected(x[item], y[item]);
      EXPECT_EQ(wrong, 0u) << cases_[i].statements;
    }
  }

  static constexpr unsigned kItems = 64;
  static uint64_t x_of(unsigned i) { return (i + 1) * 0x9e3779b97f4a7c15u; }
  // Small numbers among large ones; never 0 in any byte.
  static uint64_t y_of(unsigned i) {
    return i % 2 ? 0x0101010101010101u * (i % 100 + 1) : (i + 3) * 0xc2b2ae3d27d4eb4fu | 0x0101010101010101u;
  }

 private:
  struct Case {
    std::string statements;
    std::function<uint64_t(uint64_t, uint64_t)> expected;
  };
  std::vector<Case> cases_;
};

TEST_P(WrongCode, DivisionOfLargeNumbersWithFewSignificantBits) {
  expect("o[i] = 0xffffffffu / (uint)(y[i] & 255);",
         [](uint64_t, uint64_t y) { return 0xffffffffu / uint8_t(y); });
  expect("o[i] = 0xffffff01u % (uint)(y[i] & 255);",
         [](uint64_t, uint64_t y) { return 0xffffff01u % uint8_t(y); });
  expect("o[i] = (uint)(int)(char)x[i] / (uint)(y[i] & 255);",
         [](uint64_t x, uint64_t y) { return uint32_t(int8_t(x)) / uint8_t(y); });
  expect("o[i] = (uint)(y[i] & 255) / (uint)((int)(char)x[i] | 1);",
         [](uint64_t x, uint64_t y) { return uint8_t(y) / uint32_t(int8_t(x) | 1); });
  expect("o[i] = ~0ul % (ulong)(uint)y[i];", [](uint64_t, uint64_t y) { return ~uint64_t{0} % uint32_t(y); });
  expect("o[i] = (ulong)(long)(int)x[i] / (y[i] & 0xffff);",
         [](uint64_t x, uint64_t y) { return uint64_t(int64_t(int32_t(x))) / uint16_t(y); });
  expect("o[i] = (ulong)(long)(short)x[i] / 1000;",
         [](uint64_t x, uint64_t) { return uint64_t(int64_t(int16_t(x))) / 1000; });
  expect(
      "uint2 v = as_uint2(convert_int2(as_char8(x[i]).s01 | (char2)(-128))) / (uint2)(y[i] & 255); o[i] = "
      "as_ulong(v);",
      [](uint64_t x, uint64_t y) {
        const auto part = [y](uint64_t byte) {
          return uint64_t(uint32_t(int32_t(int8_t(byte | 128))) / uint8_t(y));
        };
        return part(x) | part(x >> 8) << 32;
      });
}

TEST_P(WrongCode, InverseOf64BitsWithAKnownHalf) {
  expect("o[i] = ~popcount(x[i]) | y[i];",
         [](uint64_t x, uint64_t y) { return ~uint64_t(__builtin_popcountll(x)) | y; });
  expect("o[i] = ~(ulong)(uint)x[i] | y[i];",
         [](uint64_t x, uint64_t y) { return ~uint64_t(uint32_t(x)) | y; });
  expect("o[i] = ~clz(x[i]) | y[i];",
         [](uint64_t x, uint64_t y) { return ~uint64_t(__builtin_clzll(x)) | y; });
  expect("o[i] = ~(x[i] << 32) | y[i];", [](uint64_t x, uint64_t y) { return ~(x << 32) | y; });
  expect("o[i] = ~(ulong)(uint)x[i] & y[i];",
         [](uint64_t x, uint64_t y) { return ~uint64_t(uint32_t(x)) & y; });
  expect("o[i] = ~(ulong)(uint)x[i] ^ y[i];",
         [](uint64_t x, uint64_t y) { return ~uint64_t(uint32_t(x)) ^ y; });
  expect("o[i] = ((ulong)(uint)x[i] ^ 0x0ffffffffffffffful) | y[i];",
         [](uint64_t x, uint64_t y) { return (uint64_t(uint32_t(x)) ^ 0x0fffffffffffffffu) | y; });
  expect("o[i] = ~(ulong)(uint)x[i] | (y[i] >> 40);",
         [](uint64_t x, uint64_t y) { return ~uint64_t(uint32_t(x)) | y >> 40; });
}

TEST_P(WrongCode, ProductOfBytesAndAFunctionOfAProduct) {
  const std::string bytes = "const uchar8 a = as_uchar8(x[i]), b = as_uchar8(y[i]); ";
  const auto byte = [](uint64_t value, unsigned index) { return uint8_t(value >> 8 * index); };
  expect(bytes + "o[i] = (uchar)(a.s0 * b.s0 + ((uchar)(a.s1 * b.s1) ^ 0x55));",
         [byte](uint64_t x, uint64_t y) {
           return uint8_t(byte(x, 0) * byte(y, 0) + (uint8_t(byte(x, 1) * byte(y, 1)) ^ 0x55));
         });
  expect(bytes + "o[i] = (uint)a.s0 * b.s0 + ((uint)a.s1 * b.s1 ^ (uint)y[i]);",
         [byte](uint64_t x, uint64_t y) {
           return uint32_t(byte(x, 0) * byte(y, 0) + (uint32_t(byte(x, 1) * byte(y, 1)) ^ uint32_t(y)));
         });
  expect(bytes + "o[i] = (uint)a.s0 * b.s0 + ((uint)a.s1 * b.s1 - (uint)y[i]);",
         [byte](uint64_t x, uint64_t y) {
           return uint32_t(byte(x, 0) * byte(y, 0) + (uint32_t(byte(x, 1) * byte(y, 1)) - uint32_t(y)));
         });
  expect(bytes + "o[i] = (uint)a.s0 * b.s0 + ((uint)a.s1 * b.s1 | (uint)y[i]);",
         [byte](uint64_t x, uint64_t y) {
           return uint32_t(byte(x, 0) * byte(y, 0) + (uint32_t(byte(x, 1) * byte(y, 1)) | uint32_t(y)));
         });
  expect(bytes + "o[i] = (uint)a.s0 * b.s0 + max((uint)a.s1 * b.s1, (uint)y[i]);", [byte](uint64_t x,
                                                                                          uint64_t y) {
    return uint32_t(byte(x, 0) * byte(y, 0) + std::max(uint32_t(byte(x, 1) * byte(y, 1)), uint32_t(y)));
  });
  expect(bytes + "o[i] = (uint)a.s0 * b.s0 + (uint)a.s1 * b.s1 * (uint)y[i];",
         [byte](uint64_t x, uint64_t y) {
           return uint32_t(byte(x, 0) * byte(y, 0) + byte(x, 1) * byte(y, 1) * uint32_t(y));
         });
  // This is one.
  expect(bytes +
             "o[i] = (uint)a.s0 * b.s0 + (uint)a.s1 * b.s1 + (uint)a.s2 * b.s2 + (uint)a.s3 * b.s3 + "
             "(uint)y[i];",
         [byte](uint64_t x, uint64_t y) {
           return uint32_t(byte(x, 0) * byte(y, 0) + byte(x, 1) * byte(y, 1) + byte(x, 2) * byte(y, 2) +
                           byte(x, 3) * byte(y, 3) + uint32_t(y));
         });
}

TEST_P(WrongCode, NegativeZeroInAVectorOfHalves) {
  expect("o[i] = as_uint((half2)(as_half((ushort)x[i]), (half)-0.0));",
         [](uint64_t x, uint64_t) { return uint16_t(x) | 0x80000000u; });
  expect("o[i] = as_uint((half2)((half)-0.0, as_half((ushort)x[i])));",
         [](uint64_t x, uint64_t) { return uint32_t(uint16_t(x)) << 16 | 0x8000u; });
  expect("half4 v = as_half4(x[i]); v.y = (half)-0.0; o[i] = as_ulong(v);",
         [](uint64_t x, uint64_t) { return (x & ~uint64_t{0xffff0000}) | 0x80000000u; });
  expect("o[i] = as_ulong((half4)(as_half((ushort)x[i]), (half)-0.0, (half)-0.0, as_half((ushort)y[i])));",
         [](uint64_t x, uint64_t y) { return uint16_t(x) | 0x800080000000u | uint64_t(uint16_t(y)) << 48; });
}

TEST_P(WrongCode, ElementOfAVectorInMemoryByAnIndexOfTheLane) {
  expect("const ulong4 v = *(__global const ulong4*)x; o[i] = v[y[i] & 3];",
         [](uint64_t, uint64_t y) { return x_of(y & 3); });
  expect("const uint8 v = ((__global const uint8*)x)[get_group_id(0)]; o[i] = v[y[i] & 7];",
         [](uint64_t, uint64_t y) { return uint32_t(x_of((y & 7) / 2) >> 32 * (y & 1)); });
  expect("const ushort4 v = *(__global const ushort4*)x; o[i] = v[y[i] & 3];",
         [](uint64_t, uint64_t y) { return uint16_t(x_of(0) >> 16 * (y & 3)); });
  expect("const ulong8 v = *(__global const ulong8*)x; o[i] = v.s0 + v[y[i] & 7];",
         [](uint64_t, uint64_t y) { return x_of(0) + x_of(y & 7); });
}

INSTANTIATE_TEST_SUITE_P(All, WrongCode,
                         testing::Values(std::array{0u, 32u}, std::array{1u, 64u}, std::array{2u, 32u},
                                         std::array{2u, 64u}, std::array{3u, 32u}),
                         [](const testing::TestParamInfo<std::array<uint32_t, 2>>& parameters) {
                           return "O" + std::to_string(parameters.param[0]) + "Wave" +
                                  std::to_string(parameters.param[1]);
                         });

}  // namespace
