// Groups of so few work-items that their waves have lanes in their lowest chunks alone: code for these.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/translator/code_generator.h"
#include "engine/translator/liveness.h"
#include "engine/translator/routine.h"
#include "tests/engine/translator/engine_pair.h"
#include "tests/engine/translator/test_kernel.h"

namespace lockstep::translator {
namespace {

// The lanes that code of waves with so many is made for.
unsigned lanes_of(std::string_view text, unsigned most_lanes, unsigned wave_size = 32) {
  LaunchShape launch;
  launch.most_lanes = most_lanes;
  return routine_of(text, wave_size, launch).lanes;
}

const std::string kBranch =
    "v_cmp_lt_u32 vcc_lo, 7, v1\ns_and_saveexec_b32 s0, vcc_lo\nv_add_nc_u32 v2, 3, v2\n"
    "s_or_b32 exec_lo, exec_lo, s0\n";
const std::string kEnd = "s_endpgm\n";

TEST(SmallGroups, AreOfTheLowestLanes) {
  EXPECT_EQ(lanes_of(kBranch + kEnd, 16), 16);
  EXPECT_EQ(lanes_of(kBranch + kEnd, 0), 32);
  EXPECT_EQ(lanes_of(kBranch + kEnd, 32), 32);
  const std::string wide = "v_cmp_lt_u32 vcc, 7, v1\ns_and_b64 exec, exec, vcc\nv_mov_b32 v1, v2\n" + kEnd;
  EXPECT_EQ(lanes_of(wide, 16, 64), 16);
  EXPECT_EQ(lanes_of(wide, 32, 64), 32);
  EXPECT_EQ(
      lanes_of("v_readlane_b32 s0, v1, 15\nv_writelane_b32 v2, s1, 3\nv_readfirstlane_b32 s2, v1\n" + kEnd,
               16),
      16);
  EXPECT_EQ(lanes_of("v_permlane16_b32 v1, v2, s0, s1\nv_mov_b32_dpp v3, v4 row_ror:3\n" + kEnd, 16), 16);
  EXPECT_EQ(lanes_of("ds_bpermute_b32 v1, v2, v3\nds_swizzle_b32 v4, v1\n" + kEnd, 32, 64), 32);
}

TEST(SmallGroups, AreOfAllLanesWhereOthersMayBeMeant) {
  for (const char* line :
       {"v_readlane_b32 s0, v1, 16\n", "v_readlane_b32 s0, v1, s2\n", "v_writelane_b32 v1, s0, 31\n",
        "v_permlanex16_b32 v1, v2, s0, s1\n", "ds_bpermute_b32 v1, v2, v3\n", "ds_permute_b32 v1, v2, v3\n",
        "ds_swizzle_b32 v4, v1\n", "s_mov_b32 exec_lo, -1\n", "s_mov_b32 exec_lo, s3\n",
        "s_or_b32 exec_lo, exec_lo, s3\n", "s_not_b32 exec_lo, exec_lo\n", "s_setpc_b64 s[0:1]\n"})
    EXPECT_EQ(lanes_of(line + kBranch + kEnd, 16), 32) << line;
  EXPECT_EQ(lanes_of("v_permlane64_b32 v1, v2\n" + kEnd, 32, 64), 64);
  EXPECT_EQ(lanes_of("s_mov_b32 exec_hi, exec_lo\n" + kEnd, 32, 64), 64);
}

// A wave that is all of its group waits for nobody at a barrier (guide 5.5), and need not leave the code for
// it.
TEST(SmallGroups, OfOneWaveHaveNoBarriers) {
  const std::string text = "v_mov_b32 v1, v0\ns_barrier\nv_mov_b32 v2, v1\n" + kEnd;
  LaunchShape launch;
  const Routine of_more = routine_of(text, 32, launch);
  launch.has_lone_waves = true;
  const Routine of_one = routine_of(text, 32, launch);
  EXPECT_TRUE(of_more.has_barriers());
  EXPECT_FALSE(of_one.has_barriers());
  EXPECT_NE(of_more.key, of_one.key);
  EXPECT_EQ(of_one.blocks.size(), 1u);
}

// The upper word of EXEC, which no chunk has lanes in, was computed on the way that an access seldom takes.
TEST(SmallGroups, MasksAreKnownOnAllWaysOfAnAccess) {
  LaunchShape launch;
  launch.most_lanes = 32;
  for (const char* access :
       {"buffer_load_u8 v9, v17, s[24:27], 0 offen", "buffer_store_b32 v9, v17, s[24:27], 0 offen",
        "buffer_atomic_add_u32 v9, v17, s[24:27], 0 offen", "global_load_b32 v9, v17, s[2:3]",
        "global_store_b64 v17, v[8:9], s[2:3]", "global_atomic_add_u32 v17, v9, s[2:3]",
        "flat_load_b32 v9, v[16:17]", "scratch_load_b32 v9, v17, off", "ds_load_b32 v9, v17",
        "ds_store_b64 v17, v[8:9]", "buffer_load_format_xy v[8:9], v17, s[24:27], 0 offen"}) {
    const Routine routine = routine_of(
        std::string(access) + "\ns_mov_b64 s[60:61], exec\nv_mov_b32 v8, s61\ns_endpgm", 64, launch);
    ASSERT_EQ(routine.lanes, 32u);
    for (const char* processor : {"x86-64-v3", "x86-64-v4"})
      EXPECT_GT(generate(routine, analyse(routine), 0, 0, processor).code_bytes, 0u) << access;
  }
}

constexpr const char* kSource = R"(
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define KERNEL __kernel __attribute__((reqd_work_group_size(X, 1, 1)))
// A triangle of a tile in LDS, as factorisations have it.
KERNEL void factors(__global float* out, __global const float* in) {
  __local float t[X][X + 1];
  int l = get_local_id(0), g = get_group_id(0);
  for (int i = 0; i < X; ++i) t[i][l] = in[(g * X + i) * X + l];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < X - 1; ++i) {
    if (l > i) {
      for (int j = 0; j < i; ++j) t[l][i] -= t[l][j] * t[j][i];
      t[l][i] /= t[i][i] + 2.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < X; ++i) out[(g * X + i) * X + l] = t[i][l];
}
// Loops that lanes leave one by one, a switch, gathers.
KERNEL void walks(__global uint* out, __global const uint* in) {
  uint i = get_global_id(0), n = in[i] & 31, sum = i;
  for (uint k = 0; k < n; ++k) {
    switch ((sum + k) & 3) {
      case 0: sum += in[(sum ^ k) & 63]; break;
      case 1: sum *= 5; break;
      case 2: if (sum & 16) continue; sum ^= k; break;
    }
    sum = sum * 3 + in[i * 2 + k];
  }
  out[i] = sum;
}
// Arrays of a work-item's own, at places that differ.
KERNEL void scratch(__global uint* out, __global const uint* in) {
  uint own[24], i = get_global_id(0);
  uchar bytes[40];
  for (uint k = 0; k < 24; ++k) own[k] = in[i + k];
  for (uint k = 0; k < 40; ++k) bytes[k] = (uchar)(in[i + k] >> k % 5);
  for (uint k = 0; k < 50; ++k) {
    own[own[k % 24] % 24] += k + bytes[own[k % 23] % 40];
    bytes[own[k % 21] % 40] ^= (uchar)k;
  }
  uint sum = 0;
  for (uint k = 0; k < 24; ++k) sum = sum * 31 + own[k] + bytes[k];
  out[i] = sum;
}
KERNEL void atomics(volatile __global uint* out, __global const uint* in) {
  __local uint counts[16];
  uint l = get_local_id(0), i = get_global_id(0);
  for (uint k = l; k < 16; k += X) counts[k] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = 0; k < 5; ++k) atomic_add(&counts[in[i + k] & 15], in[i] & 7);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = l; k < 16; k += X) atomic_xor(&out[k], counts[k] * 0x9e3779b1u);
  if (l & 1) atomic_max(&out[16 + (i & 7)], in[i]);
}
// Bytes, shorts, two and four dwords, doubles with roots and quotients.
KERNEL void elements(__global double* out, __global const uchar* in) {
  uint i = get_global_id(0);
  __global const ushort* shorts = (__global const ushort*)in;
  uint4 four = vload4(i, (__global const uint*)in);
  double d = sqrt((double)in[i] + 0.5) / (double)(shorts[i * 3 % 50] + 1) + as_double((ulong)(four.x & 0xfffff) << 44);
  if (four.y & 1) d = d * 3.0 - (double)four.z / (double)(in[i * 5 % 60] + 1);
  out[i] = d + (four.w % (in[i] + 1u)) * 0.25;
}
// Sums along rows, which are stored eight rounds at once, and what is left of them lane by lane.
KERNEL void row_sums(__global uint* out, __global const uint* in) {
  int i = get_global_id(0), rounds = get_global_size(0) / X + 6;
  uint sum = 0;
  for (int k = 0; k < rounds; ++k) {
    sum += in[i * rounds + k];
    out[i * rounds + k] = sum;
  }
}
KERNEL void wide_row_sums(__global ulong* out, __global const ulong* in) {
  int i = get_global_id(0), rounds = get_global_size(0) / X + 6;
  ulong sum = 0;
  for (int k = 0; k < rounds; ++k) {
    sum += in[i * rounds + k];
    out[i * rounds + k] = sum;
  }
}
// Pointers that may lead to memory, to LDS or to an item's own; atomics that hosts have none of.
KERNEL void anywhere(__global uint* out, __global const uint* in) {
  __local uint shared[X];
  __local uint count;
  uint own[4], l = get_local_id(0), i = get_global_id(0), which = in[i] % 3;
  for (uint k = 0; k < 4; ++k) own[k] = in[i + k];
  shared[l] = in[i] >> 3;
  if (l == 0) count = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint* place = which == 0 ? (uint*)&shared[l] : which == 1 ? (uint*)&own[in[i] & 3] : (uint*)&out[i];
  *place += *place * 3 + 5;
  __builtin_amdgcn_atomic_inc32(&count, 40u, __ATOMIC_RELAXED, "workgroup");
  __builtin_amdgcn_atomic_dec32(&out[2048 + (i & 3)], 90u, __ATOMIC_RELAXED, "agent");
  barrier(CLK_LOCAL_MEM_FENCE);
  if (which != 2) out[i] = shared[l] + own[0] + own[1] * 3 + own[2] * 5 + own[3] * 7 + count;
}
// What rows of lanes hand each other.
KERNEL void rows(__global uint* out, __global const uint* in) {
  uint i = get_global_id(0), v = in[i];
  v += __builtin_amdgcn_update_dpp(0, v, 0x121, 0xf, 0xf, false);
  v ^= __builtin_amdgcn_permlane16(v, v, 0x76543210, 0xfedcba98 >> 4, false, true);
  if (v & 2) v += __builtin_amdgcn_readfirstlane(v);
  out[i] = v + __builtin_amdgcn_readlane(v, 7);
}
)";

void expect_same_of(uint32_t items, unsigned wave_size, uint32_t grid) {
  const Bytes code =
      compile(kSource, wave_size, 3, {"-DX=" + std::to_string(items), "-fno-unroll-loops", "-cl-std=CL2.0"});
  Bytes in(1 << 16);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(i * i / 7 + i / 3);
  // Floats of about 1.
  Bytes floats(1 << 16);
  for (size_t i = 3; i < floats.size(); i += 4) floats[i] = std::byte{0x3f};
  for (size_t i = 2; i < floats.size(); i += 4) floats[i] = in[i];
  for (const char* kernel : {"factors", "walks", "scratch", "atomics", "elements", "row_sums",
                             "wide_row_sums", "anywhere", "rows"}) {
    SCOPED_TRACE(std::string(kernel) + " in groups of " + std::to_string(items));
    const bool is_of_floats = kernel == std::string("factors");
    const TestDispatch each{kernel, {grid, 1, 1}, {items, 1, 1}, {buffer(0), buffer(1)}};
    const TestResult result = expect_same(code, {each, each}, {Bytes(1 << 15), is_of_floats ? floats : in});
    EXPECT_LT(result.outcome.translation.interpreted, result.outcome.totals.instructions / 10);
  }
}

TEST(SmallGroups, OfOneChunk) {
  for (const uint32_t items : {16, 11, 8}) expect_same_of(items, 32, items * 7);
  expect_same_of(16, 64, 16 * 3 + 5);
}

TEST(SmallGroups, OfTwoChunks) {
  expect_same_of(20, 64, 20 * 3 + 9);
  expect_same_of(32, 64, 32 * 3);
  expect_same_of(24, 64, 24 * 4);
}

TEST(SmallGroups, OfAllChunks) {
  for (const uint32_t items : {24, 33}) expect_same_of(items, 32, items * 3);
  expect_same_of(33, 64, 33 * 3);
}

}  // namespace
}  // namespace lockstep::translator
