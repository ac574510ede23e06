// Elements at a distance from lane to lane, elements at the very ends of buffers, and addresses of loops that
// lanes leave one by one.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/translator/engine_pair.h"
#include "tests/engine/translator/test_kernel.h"

namespace lockstep::translator {
namespace {

Bytes random_bytes(size_t count, unsigned below = 256) {
  std::mt19937 random(7);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % below);
  return bytes;
}

// Items of the last wave are off where `n` is no multiple of its lanes.
TestDispatch dispatch(std::string kernel, uint32_t n, std::vector<TestArgument> more = {}) {
  std::vector<TestArgument> arguments = {buffer(0), buffer(1), value(n)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return {std::move(kernel), {(n + 63) / 64 * 64, 1, 1}, {64, 1, 1}, std::move(arguments), 0};
}

constexpr std::pair<const char*, unsigned> kTypes[] = {{"char", 1}, {"uchar", 1}, {"short", 2}, {"ushort", 2},
                                                       {"uint", 4}, {"uint2", 8}, {"uint4", 16}};

TEST(StridedAccesses, StoresAndLoadsOfAllSizes) {
  const std::string kernels = R"(
#define KERNEL(type) \
  typedef struct __attribute__((packed)) { type value; } packed_##type; \
  __kernel void move_##type(__global uchar* out, __global const uchar* in, uint n) { \
    uint i = get_global_id(0); \
    if (i >= n) return; \
    type value = ((__global const packed_##type*)(in + i * APART))->value; \
    ((__global packed_##type*)(out + i * APART))->value = value * (type)3 + (type)i; \
  }
KERNEL(char) KERNEL(uchar) KERNEL(short) KERNEL(ushort) KERNEL(uint) KERNEL(uint2) KERNEL(uint4)
)";
  unsigned wave_size = 32;
  for (const unsigned apart : {3u, 4u, 6u, 20u, 60u, 252u, 260u}) {
    wave_size = 96 - wave_size;
    const Bytes code = compile("#define APART " + std::to_string(apart) + kernels, wave_size);
    for (const auto& [type, size] : kTypes) {
      if (apart < size) continue;
      for (const uint32_t n : {128u, 150u}) {
        // Nothing is behind the last element.
        const size_t whole = size_t{n - 1} * apart + size;
        expect_same(code, {dispatch(std::string("move_") + type, n)},
                    {random_bytes(whole), random_bytes(whole)});
      }
    }
  }
}

// Of numbers that all lanes' fields have room for, and of those where that ends in the middle of a wave.
TEST(StridedAccesses, SignedFields) {
  const std::string kernels = R"(
__kernel void of_8(__global uint* out, __global const uint* in, uint n, uint from) {
  uint i = get_global_id(0);
  if (i < n) out[i] = in[(int)(char)(i + from) + 128] + i;
}
__kernel void of_16(__global uint* out, __global const uint* in, uint n, uint from) {
  uint i = get_global_id(0);
  if (i < n) out[i] = in[(int)(short)(i + from) + 32768] + i;
}
__kernel void of_24(__global uint* out, __global const uint* in, uint n, uint from) {
  uint i = get_global_id(0);
  int place = mad24((int)(i + from), 3, (int)i);
  if (i < n) out[i] = in[(place + (1 << 25)) / 1024 & 65535] + ((__global const uint*)in)[place < 65536u ? place : 5];
}
)";
  for (const unsigned wave_size : {32u, 64u}) {
    const Bytes code = compile(kernels, wave_size);
    const std::vector<Bytes> buffers = {Bytes(1024 * 4), random_words(65536, 5)};
    for (const uint32_t from : {0u, 0u - 500, 100u, 127u, 32768u - 500, 0u - 32768 - 20, (1u << 23) - 500,
                                0u - (1u << 23) - 40, 65536u - 300})
      for (const char* kernel : {"of_8", "of_16", "of_24"})
        expect_same(code, {dispatch(kernel, 1000, {value(from)})}, buffers);
  }
}

// Of lanes here and there, or a few at the begin; forwards, backwards and apart.
TEST(StridedAccesses, StoresOfSomeLanes) {
  const std::string kernels = R"(
#define KERNEL(type) \
  __kernel void some_##type(__global type* out, __global const uint* in, uint n) { \
    uint i = get_global_id(0); \
    if (in[i] % 3 == 0) out[i] = (type)(i * 7 + 1); \
    if (in[i] % 5 == 0) out[1023 - i] = (type)(i * 5 + 2); \
    if (i % 64 < n) out[256 + i * 2] = (type)(i * 3 + 3); \
    if (in[i] % 2 == 0) out[1500 - i * 2] = (type)(i * 11 + 4); \
  }
KERNEL(uchar) KERNEL(ushort) KERNEL(uint) KERNEL(uint2) KERNEL(uint3) KERNEL(uint4)
)";
  for (const unsigned wave_size : {32u, 64u}) {
    const Bytes code = compile(kernels, wave_size);
    for (const char* type : {"uchar", "ushort", "uint", "uint2", "uint3", "uint4"})
      for (const uint32_t n : {0u, 1u, 40u}) {
        SCOPED_TRACE(type + std::to_string(n));
        const TestDispatch some{
            std::string("some_") + type, {192, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), value(n)}, 0};
        expect_same(code, {some}, {random_bytes(1536 * 16), random_words(192, n)});
      }
  }
}

// Also under a mask, and where memory names the place.
TEST(StridedAccesses, ElementsOfFourDwordsSideBySide) {
  const char* source = R"(
__kernel void fours(__global uint4* out, __global const uint* in, uint n) {
  uint i = get_global_id(0);
  if (i < n) out[i] = (uint4)(in[i], in[i] ^ i, i * 7, in[i + 1]);
}
__kernel void placed(__global uint4* out, __global const uint* in, uint n) {
  uint i = get_global_id(0);
  if (i < n) out[in[0] / 16 % 2 + i] = (uint4)(in[i], in[i] ^ i, i * 7, in[i + 1]);
})";
  for (const unsigned wave_size : {32u, 64u}) {
    const Bytes code = compile(source, wave_size);
    for (const char* kernel : {"fours", "placed"})
      for (const uint32_t n : {256u, 203u})
        expect_same(code, {dispatch(kernel, n)}, {Bytes(260 * 16), random_bytes(260 * 4)});
  }
}

// Neighbours of a row of doubles, which compilers load as one element that the next lane's overlaps.
TEST(StridedAccesses, NeighboursOfEightBytes) {
  const char* source = R"(
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void wave(__global double* out, __global const double* in, uint n) {
  uint i = get_global_id(0);
  if (i == 0 || i + 1 >= n) return;
  out[i] = fma(in[i - 1], -in[i], fabs(in[i + 1]) - 2.0 * in[i]) - fabs(out[i]);
}
__kernel void words(__global ulong* out, __global const ulong* in, uint n) {
  uint i = get_global_id(0);
  if (i == 0 || i + 1 >= n) return;
  out[i] = in[i - 1] * 3 + (in[i] ^ 0x8000000000000000ul) + (in[i + 1] >> 5);
})";
  for (const unsigned wave_size : {32u, 64u}) {
    const Bytes code = compile(source, wave_size);
    for (const char* kernel : {"wave", "words"}) {
      // Numbers of 0.5 to 2, or any.
      Bytes in = random_bytes(300 * 8), out = random_bytes(300 * 8);
      for (Bytes* bytes : {&in, &out})
        for (size_t i = 7; kernel == std::string("wave") && i < bytes->size(); i += 8) {
          (*bytes)[i] = std::byte{0x3f} | ((*bytes)[i] & std::byte{0x80});
          (*bytes)[i - 1] |= std::byte{0xe0};
        }
      expect_same(code, {dispatch(kernel, 300)}, {out, in});
    }
  }
}

// From the end of a buffer to its begin.
TEST(StridedAccesses, ElementsInTheOppositeOrder) {
  const std::string kernels = R"(
#define KERNEL(type) \
  __kernel void turn_##type(__global type* out, __global const type* in, uint n) { \
    uint i = get_global_id(0); \
    if (i < n) out[n - 1 - i] = in[i] * (type)3 + (type)i; \
  } \
  __kernel void read_##type(__global type* out, __global const type* in, uint n) { \
    int i = get_global_id(0); \
    if (i < n) out[i] = in[(int)n - 1 - i] + (type)i; \
  } \
  __kernel void both_##type(__global type* out, __global const type* in, uint n) { \
    size_t i = get_global_id(0); \
    if (i < n) out[((size_t)n - 1 - i) * 3] = in[((size_t)n - 1 - i) * 3 + 1] ^ in[~i + n]; \
  }
KERNEL(uchar) KERNEL(ushort) KERNEL(uint) KERNEL(uint2) KERNEL(uint4)
// Differences of 64 bits, of what is negative there, too.
__kernel void wide(__global uint* out, __global const uint* in, uint n) {
  size_t i = get_global_id(0);
  long down = (long)n - (long)i * 2, far = ((long)i - 0x100000000l) * 3;
  if (i < n) out[i] = in[n - i - 1] + in[down <= 0 ? -down : down - 1] + in[(far + 0x300000000l) % n];
}
// Factors with signs, edges, a loop that goes down.
__kernel void edges(__global uint* out, __global const uint* in, uint n) {
  int i = get_global_id(0), at = 40 - i;
  if (i < (int)n) out[i] = in[max(at, 0)] + in[clamp(at * -3 + 7, 0, (int)n - 1)] + in[abs(at) % n];
}
__kernel void down(__global uint* out, __global const uint* in, uint n) {
  int i = get_global_id(0), sum = 0;
  for (int k = n - 1 - i; k >= 0; k -= 5) sum = sum * 3 + in[k];
  if (i < (int)n) out[i] = sum;
}
)";
  for (const unsigned wave_size : {32u, 64u}) {
    const Bytes code = compile(kernels, wave_size);
    for (const uint32_t n : {128u, 150u}) {
      for (const auto& [type, size] : kTypes) {
        if (type == std::string("char") || type == std::string("short")) continue;
        for (const char* kernel : {"turn_", "read_", "both_"}) {
          const size_t whole = n * size * (kernel == std::string("both_") ? 3 : 1);
          expect_same(code, {dispatch(std::string(kernel) + type, n)},
                      {random_bytes(whole), random_bytes(whole)});
        }
      }
      for (const char* kernel : {"wide", "edges", "down"})
        expect_same(code, {dispatch(kernel, n)}, {Bytes(n * 4), random_bytes(n * 4)});
    }
  }
}

TEST(StridedAccesses, ElementsThatMemoryNamesUpToABuffersEnd) {
  for (const char* type : {"uchar", "char", "ushort", "short"}) {
    const std::string source = std::string("typedef ") + type + R"( element;
__kernel void look_up(__global element* out, __global const uchar* in, uint n, __global const element* table) {
  uint i = get_global_id(0);
  if (i >= n) return;
  out[n - 1 - in[i]] = table[in[i]] + 1;
})";
    for (const unsigned wave_size : {32u, 64u}) {
      const Bytes code = compile(source, wave_size);
      const size_t size = std::string(type).ends_with("short") ? 2 : 1;
      for (const unsigned entries : {1u, 3u, 64u})
        for (const uint32_t n : {128u, 150u}) {
          expect_same(code, {dispatch("look_up", n, {buffer(2)})},
                      {Bytes(n * size), random_bytes(n, entries), random_bytes(entries * size)});
        }
    }
  }
}

TEST(StridedAccesses, ElementsBehindABuffersEndAreFaults) {
  const Bytes code = compile(R"(
__kernel void look_up(__global uchar* out, __global const uchar* in, uint n, __global const uchar* table) {
  uint i = get_global_id(0);
  if (i < n) out[i] = table[in[i] + 4092];
})");
  Bytes in = random_bytes(64, 4);
  expect_same(code, {dispatch("look_up", 64, {buffer(2)})}, {Bytes(64), in, Bytes(4096)});
  in[37] = std::byte{4};
  for (const machine::EngineKind engine :
       {machine::EngineKind::interpreter, machine::EngineKind::translator}) {
    const TestResult result =
        run(code, {dispatch("look_up", 64, {buffer(2)})}, {Bytes(64), in, Bytes(4096)}, engine);
    ASSERT_TRUE(result.outcome.fault);
    EXPECT_EQ(result.outcome.fault->fault.lane, 5);
    EXPECT_EQ(result.outcome.fault->fault.address, result.buffer_addresses[2] + 4096);
  }
}

// A register with an address that is linear in the lanes that go on, and holds results of those that have
// left.
TEST(StridedAccesses, LoopsThatLanesLeaveKeepWhatTheOthersHold) {
  const char* source = R"(
__kernel void find(__global uint* out, __global const uchar* in, uint n, uint length) {
  uint i = get_global_id(0), k = 0;
  while (k < length && in[i + k] == in[k]) ++k;
  out[i] = k + in[i + k];
}
__kernel void run(__global uint* out, __global const uint* in, uint n, uint length) {
  uint i = get_global_id(0);
  uint l = 1, v = in[i] & 1;
  if (i % 3 == 0) { out[i] = i; return; }
  while (i + l < n && (in[i + l] & 1) == v && l < length) ++l;
  out[i] = l;
}
__kernel void sums(__global uint* out, __global const uint* in, uint n, uint length) {
  uint i = get_global_id(0), s = 0, at = i;
  while (at < n && s < length) {
    s += in[at] & 255;
    if (in[at] & 1) at += 64;
    else at += 32;
  }
  out[i] = s ^ at;
})";
  for (const unsigned wave_size : {32u, 64u}) {
    const Bytes code = compile(source, wave_size);
    for (const char* kernel : {"find", "run", "sums"})
      for (const uint32_t length : {0u, 7u, 900u})
        for (const unsigned values : {2u, 256u})
          expect_same(code, {dispatch(kernel, 256, {value(length)})},
                      {Bytes(256 * 4), random_bytes(256 * 8, values)});
  }
}

// In the branch the register of the result has an address that is linear in its lanes, which goes from block
// to block of the loop.
TEST(StridedAccesses, LanesThatABranchIsNotOfKeepWhatTheyHold) {
  const Bytes code = compile(R"(
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void colours(__global int* out, __global const int* colour, uint n, __global const int* first,
             __global const int* neighbour, __global const int* weight) {
  int v = get_global_id(0), best = 1;
  if (colour[v] >= 0) { out[v] = colour[v]; return; }
  for (int e = first[v]; e < first[v + 1]; ++e) {
    int u = neighbour[e];
    if (colour[u] < 0 && weight[u] > weight[v]) best = 0;
  }
  out[v] = best ? 7 : -1;
})");
  constexpr uint32_t kItems = 1024;
  std::mt19937 random(9);
  std::vector<uint32_t> first = {0}, colours, neighbours, weights;
  for (uint32_t i = 0; i < kItems; ++i) {
    first.push_back(first.back() + random() % 8);
    colours.push_back(random() % 4 ? ~0u : i);
    weights.push_back(random() % 1000);
  }
  for (uint32_t i = 0; i < first.back(); ++i) neighbours.push_back(random() % kItems);
  const auto bytes_of = [](const std::vector<uint32_t>& words) {
    Bytes bytes(words.size() * 4);
    std::memcpy(bytes.data(), words.data(), bytes.size());
    return bytes;
  };
  expect_same(
      code, {dispatch("colours", kItems, {buffer(2), buffer(3), buffer(4)})},
      {Bytes(kItems * 4), bytes_of(colours), bytes_of(first), bytes_of(neighbours), bytes_of(weights)});
}

// The second half of the pair reads lanes that were off when the address was made, the first one is an
// address.
TEST(StridedAccesses, PairsBehindLanesThatComeOnAgain) {
  const std::string text =
      "s_mov_b32 s6, exec_lo\ns_and_b32 exec_lo, exec_lo, s5\n"
      "v_add_nc_u32 v10, 64, v0\nglobal_load_u8 v15, v10, s[2:3]\ns_mov_b32 exec_lo, s6\n"
      "v_dual_mov_b32 v12, v0 :: v_dual_add_nc_u32 v13, 8, v10\nglobal_load_u8 v14, v12, s[2:3]\n";
  std::vector<uint32_t> code = interpreter::assembled(text, 32);
  code.pop_back();
  for (const uint32_t narrow : {~0u, 0x8001'0f35u, 0xffu, 0u}) {
    EnginePair pair({.wave_size = 32, .seed = narrow});
    EXPECT_EQ(pair.run(code,
                       [&](interpreter::TestWave& wave) {
                         wave.fill(0, [](unsigned lane) { return lane; });
                         wave.set_s64(2, wave.memory_address());
                         wave.s(5) = narrow;
                       }),
              "")
        << narrow;
  }
}

}  // namespace
}  // namespace lockstep::translator
