// Places that memory names: for all lanes of a row the same, from which addresses count on from lane to lane,
// and one for each lane, where no host has an instruction for what is stored.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/translator/address_plan.h"
#include "tests/engine/translator/engine_pair.h"
#include "tests/engine/translator/test_kernel.h"

namespace lockstep::translator {
namespace {

std::ptrdiff_t regular_accesses(const std::string& text, unsigned block = 0) {
  const Routine routine = routine_of(text, 32);
  const AddressPlan plan = plan_addresses(routine, analyse(routine), false).at(block);
  return std::ranges::count(plan.is_regular, true);
}

TEST(NamedPlaces, WhatAllLanesLoadIsTheSameInAll) {
  const std::string of_row = "v_bfe_u32 v1, v0, 10, 10\nv_lshlrev_b32 v1, 2, v1\n",
                    of_lane = "v_and_b32 v1, 0x3ff, v0\nv_lshlrev_b32 v1, 2, v1\n",
                    behind =
                        "s_waitcnt vmcnt(0)\nv_and_b32 v5, 0x3ff, v0\nv_add_nc_u32 v2, v2, v5\n"
                        "v_lshlrev_b32 v2, 2, v2\nglobal_load_b32 v4, v2, s[2:3]";
  EXPECT_EQ(regular_accesses(of_row + "global_load_b32 v2, v1, s[0:1]\n" + behind), 2);
  EXPECT_EQ(regular_accesses(of_row + "global_load_i8 v2, v1, s[0:1]\n" + behind), 2);
  EXPECT_EQ(regular_accesses(of_row + "global_load_b64 v[2:3], v1, s[0:1]\n" + behind), 2);
  EXPECT_EQ(regular_accesses(of_row + "global_load_d16_b16 v2, v1, s[0:1]\n" + behind), 0);
  EXPECT_EQ(regular_accesses(of_row + "global_atomic_add_u32 v2, v1, v3, s[0:1] glc\n" + behind), 0);
  EXPECT_EQ(regular_accesses(of_lane + "global_load_b32 v2, v1, s[0:1]\n" + behind), 1);
  // Lanes that were off have something else when they come on.
  const std::string some = "s_and_saveexec_b32 s60, s4\nglobal_load_b32 v2, v1, s[0:1]\n";
  EXPECT_EQ(regular_accesses(of_row + some + behind), 2);
  EXPECT_EQ(regular_accesses(of_row + some + "s_mov_b32 exec_lo, s60\n" + behind), 1);
}

// Whatever was made of what all lanes have is expected to be the same in all of them, and looked at where the
// next block begins.
TEST(NamedPlaces, WhatIsMadeOfOnesThatAreTheSameIsExpectedToBe) {
  const auto behind = [](const std::string& text) {
    const std::string next =
        "\ns_cbranch_scc0 next\nnext:\nv_and_b32 v5, 0x3ff, v0\nv_lshl_add_u32 v2, v5, 2, v2\n"
        "global_load_b32 v4, v2, s[2:3]";
    return regular_accesses("v_bfe_u32 v1, v0, 10, 10\nv_and_b32 v3, 0x3ff, v0\n" + text + next, 1);
  };
  for (const char* same :
       {"v_cndmask_b32 v2, 0, v1, vcc_lo", "v_mul_hi_u32 v2, s4, v1", "v_perm_b32 v2, v1, v1, s4",
        "v_mul_lo_u32 v1, v1, v1\nv_cvt_f32_u32 v2, v1", "v_readfirstlane_b32 s5, v3\nv_ffbl_b32 v2, s5"})
    EXPECT_EQ(behind(same), 1) << same;
  for (const char* other : {"v_cndmask_b32 v2, 0, v3, vcc_lo", "v_mul_hi_u32 v2, s4, v3",
                            "v_lshlrev_b32 v3, 2, v3\nglobal_load_b32 v2, v3, s[0:1]"})
    EXPECT_EQ(behind(other), 0) << other;
  // In one of two blocks that go on there.
  EXPECT_EQ(behind("v_mul_hi_u32 v2, s4, v1\ns_cbranch_scc1 next\nv_mul_hi_u32 v2, s4, v3"), 0);
}

const char* const kRows = R"(
typedef __global const uint* Words;
GROUP void sparse(Words rows, Words columns, Words values, __global uint* out, int k) {
  int c = get_global_id(0), r = get_global_id(1);
  uint sum = 0;
  for (uint j = rows[r] & 63; j < (rows[r + 1] & 63) + (r & 1); ++j)
    sum = sum * 3 + values[j] * values[(columns[j] & 31) * k + c];
  out[r * k + c] = sum;
}
GROUP void table(Words rows, Words columns, Words values, __global uint* out, int k) {
  int c = get_global_id(0), r = get_global_id(1);
  __global const uint2* pairs = (__global const uint2*)rows;
  __global const uint4* fours = (__global const uint4*)columns;
  __global const char* bytes = (__global const char*)rows;
  __global const ushort* shorts = (__global const ushort*)columns;
  uint2 pair = pairs[r];
  uint4 four = fours[r];
  out[r * k + c] = values[(pair.x & 63) + c] + values[(pair.y & 63) + c] * 3 + values[(four.z & 63) + c * 2] +
                   values[(four.w & 31) + 64 + c] + values[64 + bytes[r] / 2 + c] + values[shorts[r] % 64 + c];
}
// Another round, and another lane, has other rows; some lanes have none.
GROUP void some(Words rows, Words columns, Words values, __global uint* out, int k) {
  int c = get_global_id(0), r = get_global_id(1);
  uint at = 0, sum = 0;
  for (int turn = 0; turn < 4; ++turn) {
    if ((values[c] >> turn) & 1) at = rows[r + turn] & 63;
    sum = sum * 5 + values[at + c];
    if ((columns[c] & 7) == turn) break;
  }
  out[r * k + c] = sum + at;
}
// From place to place.
GROUP void chain(Words rows, Words columns, Words values, __global uint* out, int k) {
  int c = get_global_id(0), r = get_global_id(1);
  uint at = r, sum = 0;
  for (int turn = 0; turn < 5; ++turn) {
    at = rows[at] & 63;
    sum += values[columns[at] % 64 + c];
  }
  out[r * k + c] = sum;
}
// The list is what the kernel itself stores.
GROUP void own(Words rows, Words columns, Words values, __global uint* out, int k) {
  int c = get_global_id(0), r = get_global_id(1);
  out[r * k + c] = r * 7 & 31;
  for (int turn = 0; turn < 3; ++turn) {
    uint at = out[r * k + (r & 3)] & 31;
    out[r * k + c] = values[at + c] ^ at;
  }
}
// A pointer is what is loaded.
GROUP void pointers(Words rows, Words columns, Words values, __global uint* out, int k) {
  int c = get_global_id(0), r = get_global_id(1);
  __global const uint* from[2] = {rows, columns};
  __global ulong* slots = (__global ulong*)(out + 4096);
  slots[r * k + c] = (ulong)(from[r & 1] + r);
  __global const uint* mine = (__global const uint*)slots[r * k + c / 8 * 8];
  out[r * k + c] = mine[c & 31];
  slots[r * k + c] = 0;  // buffers are not where they are for the other engine
}
)";

TEST(NamedPlaces, RowsOfKernels) {
  struct Shape {
    uint32_t x, y;
  };
  for (const unsigned wave_size : {32u, 64u})
    for (const Shape shape : {Shape{64, 1}, {32, 4}, {16, 16}, {8, 8}}) {
      // Groups of 256 items in wave64 are as those in wave32.
      if (wave_size == 64 && shape.y == 4) continue;
      const std::string group = "-DGROUP=__kernel __attribute__((reqd_work_group_size(" +
                                std::to_string(shape.x) + "," + std::to_string(shape.y) + ",1)))";
      const Bytes code = compile(kRows, wave_size, 3, {group});
      const uint32_t width = 64 / shape.x * shape.x;
      for (const char* kernel : {"sparse", "table", "some", "chain", "own", "pointers"}) {
        SCOPED_TRACE(kernel + group);
        const std::vector<TestArgument> arguments = {buffer(0), buffer(1), buffer(2), buffer(3), value(64)};
        expect_same(code, {{kernel, {width, 16, 1}, {shape.x, shape.y, 1}, arguments}},
                    {random_words(256, 1), random_words(256, 2), random_words(4096, 3), Bytes(32768)});
      }
    }
}

// Bytes, shorts and more than two dwords, at places of their own: some of them twice, some of them behind the
// end of the LDS; from all lanes, some, or one.
TEST(NamedPlaces, StoresOfEachLane) {
  const std::string kernels = R"(
#define KERNEL(type) \
  __kernel void to_memory_##type(__global type* out, __global const uint* where, uint n, uint most) { \
    uint i = get_global_id(0); \
    if ((i * 7 & 31) <= most) out[where[i] % n] = (type)(i + 1); \
  } \
  __kernel void to_lds_##type(__global type* out, __global const uint* where, uint n, uint most) { \
    __local type slots[64]; \
    uint i = get_global_id(0), lane = get_local_id(0); \
    slots[lane] = (type)0; \
    barrier(CLK_LOCAL_MEM_FENCE); \
    if ((i * 7 & 31) <= most) slots[where[i] % n] = (type)(i + 1); \
    barrier(CLK_LOCAL_MEM_FENCE); \
    out[i] = slots[lane]; \
  }
KERNEL(uchar) KERNEL(ushort) KERNEL(uint) KERNEL(uint2) KERNEL(uint3) KERNEL(uint4)
)";
  for (const unsigned wave_size : {32u, 64u}) {
    const Bytes code = compile(kernels, wave_size);
    for (const char* type : {"uchar", "ushort", "uint", "uint2", "uint3", "uint4"})
      for (const uint32_t n : {64u, 48u, 5u})
        for (const uint32_t most : {31u, 11u, 0u}) {
          SCOPED_TRACE(std::string(type) + " " + std::to_string(n) + " " + std::to_string(most));
          const std::vector<TestArgument> arguments = {buffer(0), buffer(1), value(n), value(most)};
          for (const char* place : {"to_memory_", "to_lds_"})
            expect_same(code, {{std::string(place) + type, {256, 1, 1}, {64, 1, 1}, arguments}},
                        {Bytes(256 * 16), random_words(256, n)});
        }
  }
}

// Of the LDS's last bytes, those in bounds alone.
TEST(NamedPlaces, StoresBehindTheEndOfLds) {
  for (const char* store :
       {"ds_store_b8 v1, v2", "ds_store_b8_d16_hi v1, v2 offset:1", "ds_store_b16 v1, v2",
        "ds_store_b16_d16_hi v1, v2 offset:3", "ds_store_b96 v1, v[2:4]", "ds_store_b128 v1, v[2:5]"})
    for (const unsigned wave_size : {32u, 64u})
      for (const char* lanes : {"s_mov_b64 exec, -1\n", "s_mov_b64 exec, 0x5a5a1\n", "s_mov_b64 exec, 0\n"}) {
        // From some bytes before its end to some behind it, in no order.
        const std::string text = std::string(
                                     "v_mbcnt_lo_u32_b32 v1, -1, 0\nv_mul_u32_u24 v1, 13, v1\n"
                                     "v_and_b32 v1, 63, v1\nv_sub_nc_u32 v1, 0x2010, v1\n") +
                                 lanes + store + "\ns_mov_b64 exec, -1\n";
        expect_same_runs(text, wave_size);
      }
}

}  // namespace
}  // namespace lockstep::translator
