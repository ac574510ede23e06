// Whole kernels: the translator leaves the same memory as the interpreter, bit for bit.
#include "bench/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <string_view>

#include "tests/engine/translator/test_kernel.h"

namespace lockstep::translator {
namespace {

// The benchmarks' kernels, and some that are hard in other ways.
const std::string kSource = std::string(bench::kKernels) + R"(
// Divergence inside divergence, loop counts that differ from lane to lane, strided and scattered accesses, all sizes
// of element.
__kernel void divergent(__global uint* out, __global const uint* in, __global uchar* bytes, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  uint v = in[i], sum = 0;
  for (uint k = 0; k < (v & 31); ++k) {
    if ((v >> k) & 1) {
      sum += in[(i * 7 + k * 3) % n];
      if (sum & 4) continue;
      sum ^= k << 3;
    } else if (k > 20) {
      break;
    }
  }
  out[i] = sum;
  bytes[(i * 5) % n] = (uchar)(sum >> 3);
}
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void reverse(__global uint4* data, uint stride) {
  __local uint4 tile[64];
  __local ushort small[128];
  uint l = get_local_id(0), g = get_global_id(0);
  tile[(l * stride) & 63] = data[g];
  small[l * 2] = (ushort)data[g].x;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint4 v = tile[63 - l];
  v.w += small[(l ^ 5) * 2];
  data[g] = v;
}
)";

const Bytes& code() {
  static const Bytes bytes = compile(kSource);
  return bytes;
}

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
Bytes random_floats(size_t count, unsigned seed, float scale = 1) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = (static_cast<float>(random() >> 8) / 8388608.0f - 1) * scale;
  return bytes_of(values);
}
void expect_translated(const TestResult& result) {
  EXPECT_EQ(result.outcome.note, "");
  EXPECT_GT(result.outcome.translation.instructions, 0u);
}

// Compilers that flush denormals keep them for the steps of a quotient (s_denorm_mode).
TEST(Kernels, WithoutDenormals) {
  const std::string source = R"(
__kernel void quotients(__global float* out, __global const float* in, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  float a = in[i] * 1e-30f, b = in[(i * 7 + 1) % n], sum = 0;
  for (uint k = 0; k < 4; ++k) {
    sum += a / b;
    a = a * 1e-3f + sum * 1e-9f;
    b = sqrt(fabs(b)) * 0.7f;
  }
  out[i] = sum;
})";
  std::vector<Bytes> results;
  for (const unsigned wave_size : {32u, 64u}) {
    for (const bool flushes : {false, true}) {
      const Bytes object =
          compile(source, wave_size, 3,
                  flushes ? std::vector<std::string>{"-cl-denorms-are-zero"} : std::vector<std::string>{});
      const TestDispatch dispatch{
          "quotients", {2000, 1, 1}, {128, 1, 1}, {buffer(0), buffer(1), value(2000u)}};
      const std::vector<Bytes> buffers = {Bytes(8000), random_floats(2000, 11)};
      const TestResult result = expect_same(object, {dispatch}, buffers);
      expect_translated(result);
      EXPECT_EQ(result.outcome.translation.interpreted, 0u) << wave_size << flushes;
      results.push_back(result.buffers[0]);
    }
    EXPECT_NE(results[results.size() - 2], results.back());
  }
}

// Compilers make eleven instructions of a quotient or a root, of which the translator makes one. Zeros and
// infinities among the operands are NaNs in the steps between, for which waves went to the interpreter; the
// division does not.
TEST(Kernels, Quotients) {
  const std::string source = R"(
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define QUOTIENTS(name, T) \
__kernel void name(__global T* out, __global const T* in, uint n) { \
  uint i = get_global_id(0); \
  if (i >= n) return; \
  T a = in[i], b = in[(i * 7 + 1) % n], c = in[(i * 5 + 3) % n]; \
  _Pragma("unroll 1") \
  for (uint k = 0; k < 4; ++k) { \
    out[i + n * 2 * k] = a / c; \
    out[i + n * (2 * k + 1)] = b < 0 ? (T)1 / b : a / b; \
    a *= (T)0.25; \
    b += (T)1; \
  } \
}
QUOTIENTS(doubles, double)
QUOTIENTS(floats, float)
__kernel void roots(__global double* out, __global const double* in, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  double a = fabs(in[i]);
  #pragma unroll 1
  for (uint k = 0; k < 8; ++k) {
    out[i + n * k] = sqrt(a);
    a *= 3.0;
  }
}
)";
  const auto inputs = [](auto zero) {
    using T = decltype(zero);
    std::vector<T> values(2000);
    std::mt19937 random(5);
    for (T& value : values) value = static_cast<T>(static_cast<int>(random() >> 1) - (1 << 30)) / (1 << 20);
    using Limits = std::numeric_limits<T>;
    for (size_t i = 0; i < values.size(); i += 29) values[i] = i % 2 ? T{0} : -T{0};
    for (size_t i = 0; i < values.size(); i += 37) values[i] = Limits::infinity();
    for (size_t i = 0; i < values.size(); i += 41) values[i] = Limits::denorm_min() * static_cast<T>(i);
    for (size_t i = 0; i < values.size(); i += 43) values[i] = Limits::max() / static_cast<T>(i + 1);
    return bytes_of(values);
  };
  for (const unsigned wave_size : {32u, 64u}) {
    const Bytes object = compile(source, wave_size, 2, {"-cl-fp32-correctly-rounded-divide-sqrt"});
    for (const std::string kernel : {"floats", "doubles", "roots"}) {
      const bool is_double = kernel != "floats";
      const TestDispatch dispatch{kernel, {2048, 1, 1}, {128, 1, 1}, {buffer(0), buffer(1), value(2000u)}};
      const std::vector<Bytes> buffers = {Bytes(2000 * 8 * (is_double ? 8u : 4u)),
                                          is_double ? inputs(0.0) : inputs(0.0f)};
      const TestResult result = expect_same(object, {dispatch}, buffers);
      expect_translated(result);
      EXPECT_EQ(result.outcome.translation.interpreted, 0u) << wave_size << kernel;
    }
  }
}

TEST(Kernels, Saxpy) {
  for (const uint32_t n : {1u, 31u, 33u, 256u, 1000u, 100'000u}) {
    const TestDispatch dispatch{"saxpy",
                                {(n + 255) / 256 * 256, 1, 1},
                                {256, 1, 1},
                                {buffer(0), buffer(1), value(0.37f), value(n)},
                                0};
    expect_translated(expect_same(code(), {dispatch}, {random_floats(n, 1), random_floats(n, 2)}));
  }
}

TEST(Kernels, SaxpyWithPartialGroups) {
  for (const uint32_t n : {1u, 40u, 300u, 1001u}) {
    const TestDispatch dispatch{
        "saxpy", {n, 1, 1}, {256, 1, 1}, {buffer(0), buffer(1), value(-1.5f), value(n)}, 0};
    expect_translated(expect_same(code(), {dispatch}, {random_floats(n, 3), random_floats(n, 4)}));
  }
}

// NaNs of all sorts, infinities and denormals: the lanes that host arithmetic gets wrong go to the
// interpreter.
TEST(Kernels, SaxpyWithUnusualNumbers) {
  std::vector<uint32_t> x, y;
  const uint32_t patterns[] = {0x7fc00001, 0x7f800001, 0xffc12345, 0xff812345, 0x7f800000, 0xff800000,
                               0x00000001, 0x80000001, 0x00000000, 0x80000000, 0x7f7fffff, 0x3f800000};
  for (uint32_t a : patterns)
    for (uint32_t b : patterns)
      for (unsigned i = 0; i < 3; ++i) {
        x.push_back(a);
        y.push_back(b);
      }
  const auto n = static_cast<uint32_t>(x.size());
  for (const float a : {1.0f, -0.0f, INFINITY, NAN}) {
    const TestDispatch dispatch{
        "saxpy", {n, 1, 1}, {256, 1, 1}, {buffer(0), buffer(1), value(a), value(n)}, 0};
    expect_translated(expect_same(code(), {dispatch}, {bytes_of(x), bytes_of(y)}));
  }
}

TEST(Kernels, Mandelbrot) {
  for (const auto [w, h] : {std::pair{1u, 1u}, {32u, 8u}, {45u, 13u}, {130u, 70u}}) {
    const TestDispatch dispatch{"mandelbrot",
                                {w, h, 1},
                                {32, 8, 1},
                                {buffer(0), value(w), value(h), value(-2.0f), value(-1.25f), value(2.5f / w),
                                 value(2.5f / h), value(200u)},
                                0};
    expect_translated(expect_same(code(), {dispatch}, {Bytes(w * h * 4)}));
  }
}

TEST(Kernels, MandelbrotWithUnusualNumbers) {
  constexpr uint32_t w = 64, h = 16;
  for (const float x0 : {NAN, INFINITY, 1e38f, 1e-40f}) {
    const TestDispatch dispatch{
        "mandelbrot",
        {w, h, 1},
        {32, 8, 1},
        {buffer(0), value(w), value(h), value(x0), value(-1.25f), value(0.01f), value(0.02f), value(50u)},
        0};
    expect_translated(expect_same(code(), {dispatch}, {Bytes(w * h * 4)}));
  }
}

TEST(Kernels, Sgemm) {
  struct Size {
    uint32_t m, n, k;
  };
  for (const Size s : {Size{16, 16, 16}, {32, 48, 64}, {80, 16, 32}}) {
    const TestDispatch dispatch{
        "sgemm", {s.n, s.m, 1}, {16, 16, 1}, {buffer(0), buffer(1), buffer(2), value(s.n), value(s.k)}, 0};
    expect_translated(
        expect_same(code(), {dispatch},
                    {random_floats(s.m * s.k, 5), random_floats(s.k * s.n, 6), Bytes(s.m * s.n * 4)}));
  }
}

TEST(Kernels, SgemmThatOverflows) {
  const TestDispatch dispatch{
      "sgemm", {32, 32, 1}, {16, 16, 1}, {buffer(0), buffer(1), buffer(2), value(32u), value(64u)}, 0};
  expect_translated(
      expect_same(code(), {dispatch},
                  {random_floats(32 * 64, 7, 3e38f), random_floats(64 * 32, 8, 1e10f), Bytes(32 * 32 * 4)}));
}

TEST(Kernels, Divergent) {
  for (const uint32_t n : {7u, 64u, 1000u}) {
    const TestDispatch dispatch{
        "divergent", {n, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), buffer(2), value(n)}, 0};
    expect_same(code(), {dispatch}, {Bytes(n * 4), random_words(n, 9), Bytes(n)});
  }
}

TEST(Kernels, LdsWithoutPattern) {
  for (const uint32_t stride : {1u, 3u, 17u}) {
    const TestDispatch dispatch{"reverse", {256, 1, 1}, {64, 1, 1}, {buffer(0), value(stride)}, 0};
    expect_same(code(), {dispatch}, {random_words(256 * 4, 10)});
  }
}

// Found by the kernel fuzzer: v_pack_b32_f16 took two registers for its result.
TEST(Kernels, PackedResultsAreOneRegister) {
  const Bytes packs = compile(R"(
    #pragma OPENCL EXTENSION cl_khr_fp16 : enable
    typedef half half_8 __attribute__((ext_vector_type(8)));
    half_8 canonical(half_8 x) { return x != x ? (half_8)(1) : x; }
    __kernel void negate(__global const half_8* in, __global half_8* out) {
      out[0] = canonical((half_8)(0) - canonical(in[0]));
    })");
  const TestDispatch dispatch{"negate", {1, 1, 1}, {1, 1, 1}, {buffer(0), buffer(1)}, 0};
  expect_translated(expect_same(packs, {dispatch}, {random_words(4, 13), Bytes(16)}));
}

TEST(Kernels, SeveralThreads) {
  constexpr uint32_t w = 256, h = 128;
  const TestDispatch dispatch{"mandelbrot",
                              {w, h, 1},
                              {32, 8, 1},
                              {buffer(0), value(w), value(h), value(-2.0f), value(-1.25f), value(2.5f / w),
                               value(2.5f / h), value(100u)},
                              0};
  const TestResult expected = run(code(), {dispatch}, {Bytes(w * h * 4)}, machine::EngineKind::interpreter);
  const TestResult result = run(code(), {dispatch}, {Bytes(w * h * 4)}, machine::EngineKind::translator, 4);
  EXPECT_TRUE(expected.buffers[0] == result.buffers[0]);
}

// A group is launched in the storage of an earlier one: it finds registers and LDS zero all the same, those
// that a wave had to keep at a barrier among them.
// Threads claim many groups at once; one of them waits for others that were claimed with it and behind it.
// Rows of groups end with a partial one.
TEST(Kernels, GroupsWaitForLaterOnes) {
  static const Bytes waits = compile(R"(
    __kernel void meet(volatile __global uint* flags, __global uint* out, uint width) {
      uint x = get_global_id(0), y = get_global_id(1);
      uint group = get_group_id(1) * get_num_groups(0) + get_group_id(0);
      if (group == 37) while (atomic_or(flags, 0) == 0);
      if (group == 39) atomic_or(flags, 1);
      if (group == 40) while (atomic_or(flags + 1, 0) == 0);
      if (group == 900) atomic_or(flags + 1, 1);
      out[y * width + x] += x * 1000 + y;
    })");
  constexpr uint32_t width = 16 * 63 + 5, height = 16;
  const TestDispatch dispatch{
      "meet", {width, height, 1}, {16, 1, 1}, {buffer(0), buffer(1), value(width)}, 0};
  for (const unsigned threads : {1u, 4u}) {
    const TestResult result = run(waits, {dispatch}, {Bytes(8), Bytes(width * height * 4)},
                                  machine::EngineKind::translator, threads);
    EXPECT_FALSE(result.outcome.fault);
    EXPECT_EQ(result.outcome.totals.groups_done, 64u * height);
    EXPECT_EQ(result.outcome.totals.waves, 64u * height);
    for (uint32_t i = 0; i < width * height; ++i) {
      uint32_t word = 0;
      std::memcpy(&word, result.buffers[1].data() + i * 4, 4);
      ASSERT_EQ(word, i % width * 1000 + i / width) << i;
    }
  }
}

TEST(Kernels, GroupsFindZeros) {
  const std::string source = R"(
    __kernel __attribute__((reqd_work_group_size(64, 1, 1))) void zeros(__global uint* out) {
      volatile __local uint tile[64];
      uint l = get_local_id(0), found, kept;
      __asm__ volatile("v_mov_b32 %0, v20\nv_mov_b32 v20, 7" : "=v"(found) : : "v20");
      uint scalar;
      __asm__ volatile("s_mov_b32 %0, s70\ns_mov_b32 s70, 9" : "=s"(scalar) : : "s70");
      found += tile[63 - l] + scalar;
      tile[63 - l] = 5;
      barrier(CLK_LOCAL_MEM_FENCE);
      __asm__ volatile("v_mov_b32 %0, v20" : "=v"(kept) : : "v20");
      __asm__ volatile("s_mov_b32 %0, s70" : "=s"(scalar) : : "s70");
      out[get_global_id(0)] = found | kept << 8 | scalar << 16;
    })";
  for (const unsigned wave_size : {32u, 64u}) {
    const TestResult result =
        expect_same(compile(source, wave_size), {{"zeros", {64 * 5 + 3, 1, 1}, {64, 1, 1}, {buffer(0)}, 0}},
                    {Bytes((64 * 5 + 3) * 4)});
    std::vector<uint32_t> words(64 * 5 + 3);
    std::memcpy(words.data(), result.buffers[0].data(), words.size() * 4);
    for (size_t i = 0; i < words.size(); ++i)
      EXPECT_EQ(words[i], 9u << 16 | 7u << 8) << wave_size << " lanes, item " << i;
  }
}

// Waves that end before others come to the barrier, that need the interpreter between two barriers, or longer
// than a turn.
TEST(Kernels, GroupsWithBarriers) {
  const std::string source = R"(
    __kernel void rounds(__global float* out, __global const float* in, __global const uint* counts, uint rounds) {
      __local float tile[64];
      uint l = get_local_id(0), g = get_global_id(0);
      float sum = in[g];
      if (get_group_id(0) % 5 == 3 && l >= 64) return;
      for (uint k = 0; k < rounds; ++k) {
        if (l < 64) tile[l] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        sum = sum * 0.5f + tile[(l + k) & 63];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = 0; i < counts[g]; ++i) sum = sum * 0.75f - 1;
      }
      out[g] = sum;
    })";
  constexpr uint32_t items = 128 * 40;
  std::vector<uint32_t> counts(items, 1);
  counts[1000] = counts[3010] = 9000;
  Bytes numbers = random_floats(items, 41);
  const uint32_t signaling_nan = 0x7f812345;
  std::memcpy(numbers.data() + 2000 * 4, &signaling_nan, 4);
  for (const unsigned wave_size : {32u, 64u}) {
    const Bytes rounds = compile(source, wave_size);
    for (const uint32_t group : {128u, 32u})
      expect_same(rounds,
                  {{"rounds", {items, 1, 1}, {group, 1, 1}, {buffer(0), buffer(1), buffer(2), value(5u)}, 0}},
                  {Bytes(items * 4), numbers, bytes_of(counts)});
  }
}

// Many lanes at one place: the old values tell the order. Compare-and-swap, 64 bits, floats, and LDS.
TEST(Kernels, Atomics) {
  const std::string source = R"(
    #pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
    __kernel __attribute__((reqd_work_group_size(64, 1, 1)))
    void atomics(__global uint* words, __global ulong* wide, __global uint* out) {
      __local uint tile[8];
      uint i = get_global_id(0), l = get_local_id(0);
      if (l < 8) tile[l] = l;
      barrier(CLK_LOCAL_MEM_FENCE);
      uint old = atomic_add(&tile[l & 7], i);
      if (i % 3 != 0) {
        old ^= atomic_cmpxchg(&words[i & 3], i & 12, i);
        old += atomic_inc(&words[4 + (i & 1)]);
        old += (uint)atom_add(&wide[i & 3], (ulong)i << 30);
        atomic_max(&tile[(l + 1) & 7], i * 77);
        old += atomic_xchg(&tile[(l + 2) & 7], old);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      out[i] = old + tile[l & 7];
    })";
  for (const unsigned wave_size : {32u, 64u}) {
    const TestResult result =
        expect_same(compile(source, wave_size),
                    {{"atomics", {300, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), buffer(2)}, 0}},
                    {Bytes(32), random_words(8, 41), Bytes(300 * 4)});
    EXPECT_EQ(result.outcome.note, "");
  }
}

// An index of 64 bits whose high half changes in the middle of a wave, behind a guard that knew of the pair.
TEST(Kernels, PairsBehindAGuard) {
  const std::string source = R"(
    __kernel __attribute__((reqd_work_group_size(64, 1, 1)))
    void far(__global uint* out, __global const uint* in, ulong first, ulong back, uint n) {
      ulong i = first + get_global_id(0);
      __asm__ volatile("" : "+v"(i));
      if (get_global_id(0) < n) out[i + back] = in[i + back] + (uint)(i >> 32);
    })";
  const uint64_t first = (uint64_t{1} << 32) - 232;
  for (const unsigned wave_size : {32u, 64u})
    expect_same(
        compile(source, wave_size),
        {{"far", {512, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), value(first), value(-first), value(501u)}}},
        {Bytes(512 * 4), random_words(512, 47)});
}

// What the next block's addresses come from is made behind a store, and does not count on in every wave: what
// the block has stored stays.
TEST(Kernels, IndicesMadeBehindAStore) {
  const std::string source = R"(
    __kernel __attribute__((reqd_work_group_size(64, 1, 1)))
    void behind(__global uint* sums, __global uint* out, __global const uint* in, uint n, uint limit) {
      uint i = get_global_id(0), j;
      sums[i] += 1;
      __asm__ volatile("v_and_b32 %0, 63, %1" : "=v"(j) : "v"(i + n));
      if (limit > 5) out[i] = in[j];
    })";
  for (const unsigned wave_size : {32u, 64u})
    for (const uint32_t n : {0u, 16u})
      expect_same(compile(source, wave_size),
                  {{"behind",
                    {512, 1, 1},
                    {64, 1, 1},
                    {buffer(0), buffer(1), buffer(2), value(n), value(uint32_t{9})}}},
                  {Bytes(512 * 4), Bytes(512 * 4), random_words(64, 47)});
}

// A stack of each work-item's own, at places that differ between them.
TEST(Kernels, PrivateMemory) {
  const std::string source = R"(
    __kernel void private_memory(__global uint* out, __global const uint* in, uint n) {
      uint i = get_global_id(0), v = in[i], values[20];
      ulong wide[6];
      for (uint k = 0; k < 20; ++k) values[k] = v * k;
      for (uint k = 0; k < 6; ++k) wide[k] = v;
      if (i % 3 != 1)
        for (uint k = 0; k < n; ++k) {
          values[(v >> k) % 20] += values[(v ^ k) % 20] + (uint)(wide[(v + k) % 6] >> 3);
          wide[(v >> k) % 6] += (ulong)v << k;
        }
      uint sum = 0;
      for (uint k = 0; k < 20; ++k) sum = sum * 31 + values[k];
      for (uint k = 0; k < 6; ++k) sum += (uint)(wide[k] >> 7);
      out[i] = sum;
    })";
  for (const unsigned wave_size : {32u, 64u}) {
    const TestResult result =
        expect_same(compile(source, wave_size),
                    {{"private_memory", {200, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), value(19u)}, 0}},
                    {Bytes(800), random_words(200, 42)});
    EXPECT_EQ(result.outcome.note, "");
  }
}

// Sums of shifts of a number that is the same for all lanes, as generators of random numbers have them.
TEST(Kernels, SumsOfShifts) {
  std::string left = "k ^ x", right = "x >> 1", both = "x";
  for (unsigned by = 2; by < 32; by += 2) left += " ^ (x << " + std::to_string(by) + ")";
  for (unsigned by = 3; by < 32; by += 3) right += " ^ (x >> " + std::to_string(by) + ")";
  for (unsigned by = 1; by < 12; ++by)
    both += " ^ (x << " + std::to_string(by) + ") ^ (x >> " + std::to_string(by) + ") ^ (y >> " +
            std::to_string(by / 2) + ")";
  const std::string source =
      "__kernel void sums_of_shifts(__global uint* out, uint x, uint y, uint n) {"
      "  for (uint k = 0; k < n; ++k) { x = " +
      left + "; y ^= " + right + "; x = " + both +
      "; }"
      "  out[get_global_id(0)] = x + 3 * y; }";
  const Bytes code_object = compile(source);
  for (const uint32_t x : {0u, 1u, 0x80000000u, ~0u, 0x12345678u})
    expect_translated(expect_same(
        code_object,
        {{"sums_of_shifts", {64, 1, 1}, {64, 1, 1}, {buffer(0), value(x), value(x * 77 + 1), value(9u)}, 0}},
        {Bytes(256)}));
}

// Sixteen lanes that are anywhere: all sizes of element, with lanes off, in global memory and LDS, out of the
// LDS's range, and several lanes at one place.
TEST(Kernels, ScatteredAccesses) {
  const std::string source = R"CL(
    __kernel __attribute__((reqd_work_group_size(64, 1, 1)))
    void scattered(__global uint* words, __global ulong* pairs, __global uint4* fours, __global char* bytes,
                   __global ushort* halves, __global const uint* where, __global uint* out) {
      __local uint tile[64];
      __local ulong wide[64];
      __local char small[64];
      uint i = get_global_id(0), l = get_local_id(0), at = where[i] & 255;
      tile[l] = 0;
      wide[l] = 0;
      small[l] = 0;
      barrier(CLK_LOCAL_MEM_FENCE);
      uint sum = 0;
      if (at % 5 != 0) {
        sum = words[at] + (uint)pairs[at ^ 3] + fours[at ^ 5].z + (uint)bytes[at ^ 9] + halves[at ^ 17];
        // Another address space than what is read, so that the order of waves is no matter.
        tile[at & 31] = sum;
        wide[at & 15] = (ulong)sum << 20 | i;
        small[at & 63] = (char)sum;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      if (at % 3 != 0) sum += tile[(at >> 2) & 63] ^ (uint)(wide[at & 63] >> 7) ^ (uint)small[(at * 7) & 63];
      if (at % 7 != 0) out[i ^ 21] = sum;
      uint outside;
      __asm__ volatile("ds_load_b32 %0, %1\ns_waitcnt lgkmcnt(0)" : "=v"(outside) : "v"(at << (at & 15)) : "memory");
  out[i + 256] = outside;
})CL";
  const Bytes words = random_words(256, 31), bytes = random_words(64, 32);
  for (const unsigned wave_size : {32u, 64u})
    expect_same(compile(source, wave_size),
                {{"scattered",
                  {256, 1, 1},
                  {64, 1, 1},
                  {buffer(0), buffer(1), buffer(2), buffer(3), buffer(4), buffer(5), buffer(6)},
                  0}},
                {words, random_words(512, 33), random_words(1024, 34), bytes, random_words(128, 35),
                 random_words(256, 36), Bytes(512 * 4)});
}

// Addresses that are linear in the lanes, and such that look so but for some waves: rows shorter than a
// chunk, lanes before the first element, sums that wrap, elements of all sizes, stores between the loads, by
// part of the lanes.
TEST(Kernels, LinearAddresses) {
  constexpr const char* source = R"(
    __kernel void rows(__global uint* out, __global const uint* in, uint w, uint h) {
      uint x = get_global_id(0), y = get_global_id(1);
      if (x >= w || y >= h) return;
      uint i = y * w + x, sum = in[i];
      if (x > 0) sum += in[i - 1] * 3;
      if (x + 1 < w) sum += in[i + 1] * 5;
      if (y > 0) sum += in[i - w] * 7;
      if (y + 1 < h) sum += in[i + w] * 11;
      for (uint k = 0; k < w; ++k) sum ^= in[y * w + k] + in[k];
      out[i] = sum;
    }
    __kernel void in_place(__global uint* a, __global uint* b, int shift, uint n) {
      int i = get_global_id(0);
      a[i] += 1;
      b[i] ^= a[(i + shift) & (n - 1)];
      a[i] += b[i];
      if (i - shift >= 0) b[i] += a[i - shift];
      a[i] -= 7;
    }
    __kernel void sizes(__global uchar* bytes, __global ushort* shorts, __global ulong* longs, __global uint4* fours,
                        __global const short* in, uint n) {
      size_t i = get_global_id(0);
      uint v = in[i] + bytes[i] + shorts[i + 1];
      bytes[i] = (uchar)v;
      if (i < n) shorts[i] = (ushort)(v >> 2);
      longs[i] += (ulong)v << 20;
      if (i < n) fours[i] = fours[i].wzyx + (uint4)(v, 1, 2, 3);
      bytes[i] += in[3];
    }
    __kernel void steps(__global float* out, __global const float* in, int rows, int step) {
      int i = get_global_id(0);
      float sum = 0;
      for (int r = 0; r < rows; ++r) sum = sum * 0.5f + in[i + r * step];
      out[i] = sum;
      for (int r = 0; r < rows; ++r) out[i + r * step] += sum;
    }
    __kernel void products(__global uint* out, __global const uint* in, uint add) {
      int i = get_global_id(0);
      if (i >= 250) return;
      out[i] = in[mul24((uint)i + add, 3u) & 1023] + in[(mad24((uint)i, 5u, add) >> 1) & 1023];
    })";
  for (const unsigned wave_size : {32u, 64u}) {
    const Bytes linear = compile(source, wave_size);
    for (const auto [w, h] : {std::pair{64u, 8u}, {45u, 13u}, {16u, 16u}})
      for (const std::array<uint32_t, 3> group : {std::array{32u, 4u, 1u}, {16u, 8u, 1u}, {8u, 8u, 1u}})
        expect_same(linear,
                    {{"rows",
                      {(w + group[0] - 1) / group[0] * group[0], (h + group[1] - 1) / group[1] * group[1], 1},
                      group,
                      {buffer(0), buffer(1), value(w), value(h)},
                      0}},
                    {Bytes(w * h * 4), random_words(w * h, 20)});
    for (const int shift : {0, 1, 5, 32, -1, -40})
      expect_same(
          linear,
          {{"in_place", {512, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), value(shift), value(512u)}, 0}},
          {random_words(512 + 64, 21), random_words(512, 22)});
    for (const uint32_t n : {300u, 200u, 77u})
      expect_same(linear,
                  {{"sizes",
                    {300, 1, 1},
                    {128, 1, 1},
                    {buffer(0), buffer(1), buffer(2), buffer(3), buffer(4), value(n)},
                    0}},
                  {random_words(75, 23), random_words(151, 24), random_words(600, 25), random_words(1200, 26),
                   random_words(150, 27)});
    // Factors that do and do not have the 24 bits that are multiplied.
    for (const uint32_t add : {0u, 700u, 0xffffb0u, 0x3000000u})
      expect_same(linear, {{"products", {256, 1, 1}, {128, 1, 1}, {buffer(0), buffer(1), value(add)}, 0}},
                  {Bytes(1024), random_words(1024, 35)});
    for (const int step : {0, 1, 100})
      expect_same(linear,
                  {{"steps", {256, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), value(5), value(step)}, 0}},
                  {Bytes(4 * 1024), random_floats(1024, 28)});
  }
}

// Elements that overlap from lane to lane, or leave gaps, up to the last byte of a buffer.
TEST(Kernels, StridedAccesses) {
  struct Elements {
    const char* type;
    unsigned step, count;  // from lane to lane, and of each lane
  };
  constexpr Elements shapes[] = {
      {"uint", 1, 2},  {"uint", 1, 3},  {"uint", 1, 4},   {"uint", 2, 3},  {"uint", 3, 1},   {"uint", 4, 2},
      {"uint", 5, 1},  {"uint", 6, 4},  {"uint", 8, 4},   {"uint", 9, 2},  {"uchar", 2, 1},  {"char", 3, 3},
      {"uchar", 4, 2}, {"short", 2, 1}, {"ushort", 2, 2}, {"uchar", 1, 2}, {"char", 1, 2},   {"uchar", 1, 4},
      {"uchar", 1, 8}, {"uchar", 3, 2}, {"uchar", 3, 4},  {"char", 2, 4},  {"ushort", 1, 2}, {"short", 1, 4}};
  std::string source;
  const auto name = [](const Elements& shape, const char* what) {
    return std::string(what) + "_" + shape.type + "_" + std::to_string(shape.step) + "_" +
           std::to_string(shape.count);
  };
  for (const Elements& shape : shapes) {
    const auto begin = [&](const char* what) {
      source += "__kernel void " + name(shape, what) + "(__global " +
                (*what == 'l' ? std::string("uint* out, __global const ") + shape.type + "* in"
                              : std::string(shape.type) + "* out, __global const uint* in") +
                ", uint n) {\n  uint i = get_global_id(0), at = i * " + std::to_string(shape.step) +
                ", sum = 0;\n  if (i >= n) return;\n";
    };
    begin("load");
    for (unsigned k = 0; k < shape.count; ++k)
      source += "  sum = sum * 31 + in[at + " + std::to_string(k) + "];\n";
    source += "  out[i] = sum;\n}\n";
    begin("store");
    for (unsigned k = 0; k < shape.count; ++k)
      source += "  out[at + " + std::to_string(k) + "] = in[i] * " + std::to_string(2 * k + 3) + ";\n";
    source += "}\n";
  }
  for (const unsigned wave_size : {32u, 64u}) {
    const Bytes strided = compile(source, wave_size);
    for (const Elements& shape : shapes) {
      if (wave_size == 64 && (&shape - shapes) % 3 != 0) continue;
      const std::string_view type = shape.type;
      const size_t size = type.ends_with("int") ? 4 : type.ends_with("short") ? 2 : 1;
      for (const uint32_t n : {128u, 77u}) {
        Bytes elements = random_words(128 * 9 + 4, 34);
        elements.resize(((n - 1) * shape.step + shape.count) * size);
        expect_same(strided,
                    {{name(shape, "load"), {128, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), value(n)}, 0}},
                    {Bytes(128 * 4), elements});
        // What lies between is not touched.
        expect_same(strided,
                    {{name(shape, "store"), {128, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), value(n)}, 0}},
                    {elements, random_words(128, 36)});
      }
    }
  }
}

// Groups in one call of translated code, out of which single waves fall: for numbers that are the
// interpreter's, addresses that are not linear after all, and at the end of their turn.
TEST(Kernels, RowsOfGroups) {
  constexpr const char* source = R"(
    __kernel void blend(__global float* out, __global const float* in, float a, float b, uint from) {
      uint i = get_global_id(0) + from * get_global_size(0) * get_global_id(1);
      float x = in[i];
      if (x > -0.75f) out[i] = a * x + b * out[i];
    }
    __kernel void wrapped(__global uint* out, __global const uint* in, uint mask, uint add) {
      uint i = get_global_id(0);
      out[i] += 5 * in[(i + add) & mask] + get_group_id(0);
    }
    __kernel void rounds(__global uint* out, __global const uint* in) {
      uint i = get_global_id(0), x = i, count = in[i];
      for (uint k = 0; k < count; ++k) x = x * 1664525u + 1013904223u;
      out[i] = x;
    })";
  constexpr uint32_t items = 64 * 40;
  for (const unsigned wave_size : {32u, 64u}) {
    const Bytes rows = compile(source, wave_size);
    Bytes numbers = random_floats(items, 30);
    for (const uint32_t at : {9u * 64 + 40, 9u * 64 + 63, 20u * 64, 39u * 64 + 5}) {
      const uint32_t signaling_nan = 0x7f812345;
      std::memcpy(numbers.data() + at * 4, &signaling_nan, 4);
    }
    for (const std::array<uint32_t, 3> group :
         {std::array{64u, 1u, 1u}, {128u, 2u, 1u}, {16u, 4u, 1u}, {24u, 2u, 1u}})
      expect_same(rows,
                  {{"blend",
                    {items / 4, 4, 1},
                    group,
                    {buffer(0), buffer(1), value(0.5f), value(-3.0f), value(1u)},
                    0}},
                  {random_floats(items, 31), numbers});
    for (const uint32_t add : {0u, 1u, 63u, 300u})
      expect_same(
          rows, {{"wrapped", {items, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), value(511u), value(add)}, 0}},
          {random_words(items, 32), random_words(512, 33)});
    std::vector<uint32_t> counts(items, 3);
    counts[700] = counts[1900] = 9000;
    expect_same(rows, {{"rounds", {items, 1, 1}, {128, 1, 1}, {buffer(0), buffer(1)}, 0}},
                {Bytes(items * 4), bytes_of(counts)});
  }
}

TEST(Kernels, Wave64) {
  const Bytes wave64 = compile(kSource, 64);
  for (const uint32_t n : {1u, 31u, 64u, 100u, 1000u})
    expect_translated(expect_same(
        wave64, {{"saxpy", {n, 1, 1}, {256, 1, 1}, {buffer(0), buffer(1), value(0.37f), value(n)}, 0}},
        {random_floats(n, 1), random_floats(n, 2)}));
  constexpr uint32_t w = 130, h = 70;
  expect_translated(expect_same(wave64,
                                {{"mandelbrot",
                                  {w, h, 1},
                                  {32, 8, 1},
                                  {buffer(0), value(w), value(h), value(-2.0f), value(-1.25f),
                                   value(2.5f / w), value(2.5f / h), value(200u)},
                                  0}},
                                {Bytes(w * h * 4)}));
  expect_translated(expect_same(
      wave64,
      {{"sgemm", {48, 32, 1}, {16, 16, 1}, {buffer(0), buffer(1), buffer(2), value(48u), value(64u)}, 0}},
      {random_floats(32 * 64, 5), random_floats(64 * 48, 6), Bytes(32 * 48 * 4)}));
  for (const uint32_t n : {7u, 64u, 1000u})
    expect_same(wave64,
                {{"divergent", {n, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), buffer(2), value(n)}, 0}},
                {Bytes(n * 4), random_words(n, 9), Bytes(n)});
  for (const uint32_t stride : {1u, 3u, 17u})
    expect_same(wave64, {{"reverse", {256, 1, 1}, {64, 1, 1}, {buffer(0), value(stride)}, 0}},
                {random_words(256 * 4, 10)});
}

// What has no translation is executed by the interpreter in between, and the run says so.
TEST(Kernels, NamesWhatTheInterpreterExecutes) {
  const Bytes sums = compile(R"(
    __kernel void sum(__global float* out) {
      int i = get_global_id(0), pair = 0x3f803f80 + i;
      float sum;
      __asm("v_dot2_f32_bf16 %0, %1, %1, 1.0" : "=v"(sum) : "v"(pair));
      out[i] = sum;
    })");
  const TestDispatch sum{"sum", {100, 1, 1}, {32, 1, 1}, {buffer(0)}, 0};
  const TestResult result = expect_same(sums, {sum}, {Bytes(400)});
  EXPECT_NE(result.outcome.note.find("v_dot2_f32_bf16"), std::string::npos) << result.outcome.note;
  EXPECT_GT(result.outcome.translation.instructions, 0u);
}

}  // namespace
}  // namespace lockstep::translator
