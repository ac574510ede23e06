// Reductions, scans and broadcasts of sub-groups and work-groups against the host: all types and operations,
// at every level of optimisation and both wave sizes, their results used in branches, where LLVM 19 reads
// them from lanes that are off if nothing keeps it from doing so.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <lockstep.hpp>
#include <string>
#include <vector>

#include "tests/sweep.h"

namespace {

using Half = _Float16;

constexpr uint32_t kGroups = 2;
constexpr unsigned kRows = 8;  // of output, for each work-group, as long as the group

// One kernel for each type and operation. The rows: results that every item stores; those that one item of a
// sub-group or of the group stores; those that every second or third item stores.
constexpr char kKernels[] = R"(
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define KERNEL(T, OP)                                                              \
  __kernel void T##_##OP(__global const T* x, __global T* o) {                     \
    const uint i = get_local_id(0), n = get_local_size(0);                         \
    x += get_group_id(0) * n;                                                      \
    o += get_group_id(0) * n * 8;                                                  \
    const T v = x[i];                                                              \
    o[i] = sub_group_reduce_##OP(v);                                               \
    const T reduced = sub_group_reduce_##OP(v);                                    \
    if (get_sub_group_local_id() == 0) o[n + get_sub_group_id()] = reduced;        \
    const T inclusive = sub_group_scan_inclusive_##OP(v);                          \
    if (i & 1) o[2 * n + i] = inclusive;                                           \
    const T exclusive = sub_group_scan_exclusive_##OP(v);                          \
    if (i % 3 == 0) o[3 * n + i] = exclusive;                                      \
    const T total = work_group_reduce_##OP(v);                                     \
    if (i == 0) o[4 * n] = total;                                                  \
    const T group_inclusive = work_group_scan_inclusive_##OP(v);                   \
    if (i & 1) o[5 * n + i] = group_inclusive;                                     \
    const T group_exclusive = work_group_scan_exclusive_##OP(v);                   \
    if (i % 3 == 0) o[6 * n + i] = group_exclusive;                                \
    const T first = sub_group_broadcast(v, 0), last = work_group_broadcast(v, n - 1); \
    const int any = sub_group_any(v > (T)9), all = sub_group_all(v > (T)-100);     \
    if (i == n / 2) {                                                              \
      o[7 * n] = first;                                                            \
      o[7 * n + 1] = last;                                                         \
      o[7 * n + 2] = (T)any;                                                       \
      o[7 * n + 3] = (T)all;                                                       \
    }                                                                              \
  }
#define KERNELS(T) KERNEL(T, add) KERNEL(T, min) KERNEL(T, max)
KERNELS(int) KERNELS(uint) KERNELS(long) KERNELS(ulong) KERNELS(float) KERNELS(double) KERNELS(half)
)";

enum class Operation { add, min, max };
constexpr const char* kOperationNames[] = {"add", "min", "max"};

template <class T>
T combine(Operation operation, T a, T b) {
  switch (operation) {
    case Operation::add:
      return T(a + b);
    case Operation::min:
      return a < b ? a : b;
    default:
      return a < b ? b : a;
  }
}

template <class T>
T identity(Operation operation) {
  if (operation == Operation::add) return T(0);
  const bool lowest = operation == Operation::max;
  if constexpr (std::is_integral_v<T>)
    return lowest ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  else
    return T(lowest ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity());
}

// What a work-group stores; what it does not store stays as it was.
template <class T>
void expect_of_group(Operation operation, const T* x, T* o, uint32_t n, uint32_t wave) {
  const auto reduce = [&](uint32_t begin, uint32_t end) {
    T value = identity<T>(operation);
    for (uint32_t i = begin; i < end; ++i) value = combine(operation, value, x[i]);
    return value;
  };
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t begin = i / wave * wave, end = std::min(n, begin + wave);
    o[i] = reduce(begin, end);
    if (i == begin) o[n + i / wave] = o[i];
    if (i & 1) o[2 * n + i] = reduce(begin, i + 1);
    if (i % 3 == 0) o[3 * n + i] = reduce(begin, i);
    if (i & 1) o[5 * n + i] = reduce(0, i + 1);
    if (i % 3 == 0) o[6 * n + i] = reduce(0, i);
    if (i != n / 2) continue;
    o[7 * n] = x[begin];
    o[7 * n + 1] = x[n - 1];
    o[7 * n + 2] = T(std::any_of(x + begin, x + end, [](T v) { return v > T(9); }));
    o[7 * n + 3] = T(std::all_of(x + begin, x + end, [](T v) { return v > T(-100); }));
  }
  o[4 * n] = reduce(0, n);
}

template <class T>
void check(lockstep::Device& device, const lockstep::CodeObject& code, const char* type, Operation operation,
           uint32_t n, uint32_t wave) {
  const std::string name = std::string(type) + "_" + kOperationNames[int(operation)];
  SCOPED_TRACE(name + " of " + std::to_string(n));
  auto x = device.allocate<T>(n * kGroups), o = device.allocate<T>(n * kGroups * kRows);
  // Small whole numbers, whose sums are exact in every type and order.
  for (uint32_t i = 0; i < x.size(); ++i) x[i] = T(int(i * 37 % 23) - (T(-1) < T(0) ? 8 : 0));
  std::vector<T> expected(o.size(), T(77));
  std::copy(expected.begin(), expected.end(), o.begin());
  for (uint32_t group = 0; group < kGroups; ++group)
    expect_of_group(operation, &x[group * n], &expected[group * n * kRows], n, wave);
  const lockstep::Kernel kernel = code.kernel(name);
  lockstep::Arguments arguments(kernel);
  arguments.set(0u, x).set(1u, o);
  device.run(kernel, arguments, {n * kGroups}, {n});
  for (uint32_t i = 0; i < o.size(); ++i)
    ASSERT_TRUE(o[i] == expected[i]) << "row " << i / n % kRows << ", item " << i % n << ": " << double(o[i])
                                     << " instead of " << double(expected[i]);
}

// The optimisation level and the wave size.
class Reductions : public testing::TestWithParam<std::array<uint32_t, 2>> {
 protected:
  lockstep::CodeObject compile(lockstep_language language, const std::string& text,
                               std::vector<const char*> flags = {}) {
    lockstep_compile_options options;
    lockstep_compile_options_init(&options);
    options.optimization = GetParam()[0];
    options.wave_size = GetParam()[1];
    options.flags = flags.data();
    options.flag_count = uint32_t(flags.size());
    return lockstep::CodeObject::compile(language, text, "test", &options);
  }
};

class ReductionsInHip : public Reductions {};

TEST_P(Reductions, AreThoseOfTheHost) {
  const lockstep::CodeObject code = compile(LOCKSTEP_OPENCL, kKernels);
  const uint32_t wave = GetParam()[1];
  lockstep::Device device;
  // A whole wave, waves of which the last is not whole, and one that is not whole.
  for (const uint32_t n : {wave, 3 * wave - 7, 20u}) {
    for (const Operation operation : {Operation::add, Operation::min, Operation::max}) {
      check<int32_t>(device, code, "int", operation, n, wave);
      check<uint32_t>(device, code, "uint", operation, n, wave);
      check<int64_t>(device, code, "long", operation, n, wave);
      check<uint64_t>(device, code, "ulong", operation, n, wave);
      check<float>(device, code, "float", operation, n, wave);
      check<double>(device, code, "double", operation, n, wave);
      check<Half>(device, code, "half", operation, n, wave);
    }
  }
}

// The same in HIP: shuffles and the instructions themselves, their results used by one lane.
TEST_P(ReductionsInHip, ByShuffles) {
  const lockstep::CodeObject code = compile(LOCKSTEP_HIP, R"(
#include <hip/hip_runtime.h>
extern "C" __global__ void kernel(const unsigned* x, unsigned* o) {
  const unsigned i = threadIdx.x;
  unsigned sum = x[i];
  for (int distance = warpSize / 2; distance > 0; distance /= 2) sum += __shfl_down(sum, distance);
  const unsigned exchanged = __builtin_amdgcn_permlanex16(x[i], x[i], 0x76543210, 0xfedcba98, false, false);
  const unsigned moved = __builtin_amdgcn_update_dpp(0, x[i], 0x118, 0xf, 0xf, false);  // row_shr:8
  const unsigned permuted = __builtin_amdgcn_permlane16(x[i], x[i], 0x01234567, 0x89abcdef, false, false);
  const unsigned long long ballot = __ballot(x[i] > 50);
  if (i == 0) o[0] = sum;
  if (i == 3) o[1] = exchanged;
  if (i == 12) o[2] = moved;
  if (i == 5) o[3] = permuted;
  if (i == 7) o[4] = __popcll(ballot);
}
)");
  const uint32_t wave = GetParam()[1];
  lockstep::Device device;
  auto x = device.allocate<uint32_t>(wave), o = device.allocate<uint32_t>(5);
  uint32_t sum = 0, above = 0;
  for (uint32_t i = 0; i < wave; ++i) {
    x[i] = 100 + i * i;
    if (i % 3 == 0) x[i] = i;
    sum += x[i];
    above += x[i] > 50;
  }
  const lockstep::Kernel kernel = code.kernel("kernel");
  lockstep::Arguments arguments(kernel);
  arguments.set(0u, x).set(1u, o);
  device.run(kernel, arguments, {wave}, {wave});
  EXPECT_EQ(o[0], sum);
  EXPECT_EQ(o[1], x[16 + 3]);
  EXPECT_EQ(o[2], x[12 - 8]);
  EXPECT_EQ(o[3], x[2]);
  EXPECT_EQ(o[4], above);
}

// LLVM takes the option once only.
TEST_P(Reductions, AGuardThatTheUserGivesIsNotGivenTwice) {
  EXPECT_NO_THROW(compile(LOCKSTEP_OPENCL, "__kernel void f() {}", {"-mllvm", "-disable-machine-sink"}));
}

std::string name_of(const testing::TestParamInfo<std::array<uint32_t, 2>>& parameters) {
  return "O" + std::to_string(parameters.param[0]) + "Wave" + std::to_string(parameters.param[1]);
}

using LevelsAndWaveSizes = std::vector<std::array<uint32_t, 2>>;

// All of them, or the share.
LevelsAndWaveSizes levels_and_wave_sizes(const LevelsAndWaveSizes& share) {
  if (!lockstep::test::has_whole_sweeps()) return share;
  LevelsAndWaveSizes all;
  for (const uint32_t level : {0u, 1u, 2u, 3u})
    for (const uint32_t wave : {32u, 64u}) all.push_back({level, wave});
  return all;
}

// Each language optimised, and each wave size in each language; unoptimised code never went wrong.
INSTANTIATE_TEST_SUITE_P(All, Reductions, testing::ValuesIn(levels_and_wave_sizes({{1, 32}, {2, 64}})),
                         name_of);
INSTANTIATE_TEST_SUITE_P(All, ReductionsInHip, testing::ValuesIn(levels_and_wave_sizes({{2, 64}, {3, 32}})),
                         name_of);

}  // namespace
