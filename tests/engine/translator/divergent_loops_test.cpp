// Loops of several blocks through which waves go lane by lane: arrays in registers, and branches that lanes
// take each for itself.
#include "engine/translator/divergent_loops.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/engine/translator/engine_pair.h"
#include "tests/engine/translator/test_kernel.h"

namespace lockstep::translator {
namespace {

// v[20:25] are an array. Each round reads the element that v4 chooses; where v4 is odd `inside` is executed,
// with what was read in v8; then `tail`. Lanes go on for v5 rounds. Behind the loop scalar registers that
// lanes do not have in common are written, and then `behind`.
std::string loop(const std::string& inside, const std::string& tail = "",
                 const std::string& behind = "s_mov_b32 s58, 0") {
  std::string text = "v_mov_b32 v6, 0\nv_mov_b32 v7, 0\nv_mov_b32 v9, 7\n";
  for (unsigned i = 0; i < 6; ++i)
    text += "v_add_nc_u32 v" + std::to_string(20 + i) + ", " + std::to_string(i) + ", v0\n";
  text +=
      "s_mov_b32 s60, 0\ns_mov_b32 s58, 5\ns_mov_b32 s59, 9\ns_mov_b32 s63, 0\nagain:\nv_and_b32 v12, 7, v4\n"
      "v_mov_b32 v8, v20\n";
  for (unsigned i = 1; i < 6; ++i)
    text += "v_cmp_eq_u32 vcc_lo, " + std::to_string(i) + ", v12\nv_cndmask_b32 v8, v8, v" +
            std::to_string(20 + i) + ", vcc_lo\n";
  return text + "s_mov_b32 s61, exec_lo\nv_and_b32 v13, 1, v4\nv_cmpx_eq_u32 1, v13\ns_cbranch_execz even\n" +
         inside +
         "\neven:\ns_or_b32 exec_lo, exec_lo, s61\nv_add_nc_u32 v6, v6, v8\nv_mad_u32_u24 v4, v4, 5, v8\n"
         "v_lshrrev_b32 v4, 1, v4\nv_add_nc_u32 v7, 1, v7\ns_add_i32 s58, s58, 3\n" +
         tail +
         "\nv_cmp_ge_u32 vcc_lo, v7, v5\ns_or_b32 s60, vcc_lo, s60\ns_and_not1_b32 exec_lo, exec_lo, s60\n"
         "s_cbranch_execnz again\nout:\ns_mov_b32 exec_lo, -1\ns_mov_b32 s61, 0\ns_mov_b32 vcc_lo, 0\n"
         "s_cmp_eq_u32 s61, 0\n" +
         behind + "\nv_add_nc_u32 v10, v6, v7";
}

// Stores v14 into the element that v12 chooses, and one more choice than a load and a store have.
std::string store(const std::string& value) {
  std::string text = value + "\n";
  for (unsigned i = 0; i < 6; ++i) {
    const std::string element = "v" + std::to_string(20 + i);
    text += "v_cmp_eq_u32 vcc_lo, " + std::to_string(i) + ", v12\nv_cndmask_b32 " + element + ", " + element +
            ", v14, vcc_lo\n";
  }
  return text + "v_cmp_lt_u32 vcc_lo, v8, v9\nv_cndmask_b32 v9, v9, v8, vcc_lo\n";
}

size_t loops_in(const std::string& text) {
  const Routine routine = routine_of(text, 32);
  return find_divergent_loops(routine, analyse(routine)).size();
}

TEST(DivergentLoops, LanesEndWhereTheInterpretersDo) {
  const std::string texts[] = {
      loop(store("v_add_nc_u32 v14, v8, v6")),
      loop(store("v_xor_b32 v14, v8, v4"), "v_mul_lo_u32 v9, v9, v8"),
      // Masks that go from round to round, and what is the same for all lanes.
      loop(store("v_add_nc_u32 v14, 3, v8\ns_or_b32 s63, s63, exec_lo"), "v_add_nc_u32 v9, s58, v9"),
      loop(store("v_mov_b32 v14, s58"),
           "s_cmp_lt_u32 s58, 30\ns_cselect_b32 s62, -1, 0\ns_and_b32 s62, s62, exec_lo\n"
           "v_cndmask_b32 v9, v9, v8, s62",
           "s_mov_b32 s58, 0\ns_mov_b32 s62, 0"),
      // A branch in a branch, one arm and the other, and a branch that all lanes take or none.
      loop(store("v_mov_b32 v14, v6") +
               "s_mov_b32 s62, exec_lo\nv_cmpx_gt_u32 40, v8\ns_cbranch_execz inner\n"
               "v_add_nc_u32 v9, 5, v9\ninner:\ns_or_b32 exec_lo, exec_lo, s62",
           "", "s_mov_b32 s58, 0\ns_mov_b32 s62, 0"),
      loop(store("v_mov_b32 v14, v6"),
           "v_cmp_gt_u32 vcc_lo, 60, v6\ns_and_saveexec_b32 s62, vcc_lo\n"
           "s_xor_b32 s62, exec_lo, s62\ns_cbranch_execz other\nv_add_nc_u32 v9, 5, v9\n"
           "other:\ns_and_not1_saveexec_b32 s62, s62\ns_cbranch_execz both\n"
           "v_mul_u32_u24 v9, 3, v9\nboth:\ns_or_b32 exec_lo, exec_lo, s62",
           "s_mov_b32 s58, 0\ns_mov_b32 s62, 0"),
      loop(store("v_mov_b32 v14, v6"),
           "s_cmp_gt_u32 s58, 40\ns_cbranch_scc1 late\nv_add_nc_u32 v9, 5, v9\nlate:"),
      // Floats, NaNs among them.
      loop(store("v_mov_b32 v14, v6"), "v_fmac_f32 v9, v8, v4"),
      // Loads of lanes that are on.
      loop(store("v_lshlrev_b32 v15, 2, v12\nglobal_load_b32 v14, v15, s[0:1]\ns_waitcnt vmcnt(0)")),
  };
  EnginePair all({.seed = 21}), some({.exec = 0xf0ff'1f01, .seed = 22});
  for (const std::string& text : texts) {
    EXPECT_EQ(loops_in(text), 1u) << text;
    std::vector<uint32_t> code = interpreter::assembled(text, 32);
    code.pop_back();  // the end, behind which no register matters
    for (const unsigned longest : {1u, 2u, 9u, 30u})
      for (EnginePair* each : {&all, &some})
        EXPECT_EQ(each->run(code,
                            [&](interpreter::TestWave& wave) {
                              wave.fill(4, [](unsigned lane) { return lane * 0x9E3779B9u; });
                              wave.fill(5, [&](unsigned lane) { return lane * 2654435761u % longest; });
                            }),
                  "")
            << text << longest;
  }
}

// Their choices are no elements of arrays.
TEST(DivergentLoops, QuotientsOf64BitsAreTheWaves) {
  const std::string text = loop(store("v_mov_b32 v14, v6"), "v_mul_f32 v9, 0x5f7ffffd, v9");
  const std::string of_quotient = replaced(text, "0x5f7ffffd", "0x5f7ffffc");
  EXPECT_EQ(loops_in(text), 1u);
  EXPECT_EQ(loops_in(of_quotient), 0u);
}

TEST(DivergentLoops, OthersAreTheWaves) {
  const std::string value = "v_mov_b32 v14, v6";
  ASSERT_EQ(loops_in(loop(store(value))), 1u);
  // Numbers behind the loop: those of the lane that went on for longest.
  EXPECT_EQ(loops_in(loop(store(value), "", "v_mov_b32 v9, s58")), 0u);
  // A number that lanes do not have that were not in the branch.
  EXPECT_EQ(loops_in(loop(store(value) + "s_add_i32 s59, s59, 1", "v_add_nc_u32 v9, s59, v9")), 0u);
  EXPECT_EQ(loops_in(loop(store(value) + "s_add_i32 s59, s59, 1\nv_add_nc_u32 v9, s59, v9")), 0u);
  // The wave changes bits of lanes that were not in the branch, or have left the loop.
  EXPECT_EQ(loops_in(loop(store(value) + "s_or_b32 s63, s63, s61", "", "v_mov_b32 v9, s63")), 0u);
  EXPECT_EQ(loops_in(loop(store(value), "s_not_b32 s63, exec_lo", "v_mov_b32 v9, s63")), 0u);
  EXPECT_EQ(loops_in(loop(store(value) + "s_mov_b32 exec_lo, s61")), 0u);
  EXPECT_EQ(loops_in(loop(store(value) + "s_mov_b32 exec_lo, -1")), 0u);
  // SCC and VCC that say something of all lanes.
  EXPECT_EQ(loops_in(loop(store(value),
                          "s_or_b32 s62, vcc_lo, exec_lo\ns_cbranch_scc1 late\nv_mov_b32 v9, 1\nlate:")),
            0u);
  EXPECT_EQ(loops_in(loop(store(value) + "s_cbranch_vccz even\nv_mov_b32 v9, 1")), 0u);
  // Masks as numbers, other lanes, memory.
  for (const char* body :
       {"v_mov_b32 v9, s60", "v_readfirstlane_b32 s62, v8", "v_mbcnt_lo_u32_b32 v9, v8, 0",
        "v_mov_b32_dpp v9, v8 row_shr:1 row_mask:0xf bank_mask:0xf", "global_store_b32 v12, v8, s[0:1]",
        "global_load_b32 v9, v12, s[0:1] glc", "s_load_b32 s62, s[0:1], 0x0"})
    EXPECT_EQ(loops_in(loop(store(value) + body)), 0u) << body;
  // Scratch that is read behind the loop, by who knows whom or by a load.
  const std::string spill = "\nscratch_store_b32 off, v8, off offset:8";
  EXPECT_EQ(loops_in(loop(store(value) + spill + "\nscratch_load_b32 v9, off, off offset:8")), 1u);
  EXPECT_EQ(loops_in(loop(store(value) + spill, "",
                          "scratch_load_b32 v9, off, off offset:8\nglobal_store_b32 v12, v9, s[0:1]")),
            0u);
  // Arrays there, likewise; not of bytes, or at a place that a register has for all lanes.
  const std::string push = "scratch_store_b32 v12, v8, off\n";
  EXPECT_EQ(loops_in(loop(push + "scratch_load_b64 v[14:15], v12, off offset:4\n")), 1u);
  EXPECT_EQ(
      loops_in(loop(push, "", "scratch_load_b32 v9, off, off offset:8\nglobal_store_b32 v12, v9, s[0:1]")),
      0u);
  EXPECT_EQ(loops_in(loop(push + "scratch_store_b8 v12, v8, off\n")), 0u);
  EXPECT_EQ(loops_in(loop(push + "scratch_load_b32 v14, v12, s58\n")), 0u);
  // Two ways out, and loops in loops.
  EXPECT_EQ(
      loops_in(loop(store(value), "s_cmp_gt_u32 s58, 90\ns_cbranch_scc1 away", "s_mov_b32 s58, 0\naway:")),
      0u);
  EXPECT_EQ(loops_in(loop(store(value),
                          "inner:\ns_add_i32 s58, s58, 1\ns_cmp_gt_u32 s58, 90\ns_cbranch_scc0 inner")),
            0u);
  // Nothing that would be less work.
  EXPECT_EQ(loops_in(loop("v_mov_b32 v14, v6")), 0u);
}

// Stacks of private memory, which compilers put into registers and spill to scratch.
TEST(DivergentLoops, ArraysOfKernels) {
  const Bytes code = compile(R"(
__kernel void queens(__global uint* out, uint n) {
  uint stack[16], columns[16], left[16], right[16], all = (1u << n) - 1, solutions = 0, item = get_global_id(0);
  columns[0] = 1u << item % n;
  left[0] = columns[0] << 1;
  right[0] = columns[0] >> 1;
  int depth = 0;
  stack[0] = all & ~(columns[0] | left[0] | right[0]);
  while (depth >= 0) {
    uint possible = stack[depth];
    if (possible == 0) {
      --depth;
      continue;
    }
    uint place = possible & -possible;
    stack[depth] = possible ^ place;
    if (depth + 2 == (int)n) {
      ++solutions;
      continue;
    }
    columns[depth + 1] = columns[depth] | place;
    left[depth + 1] = (left[depth] | place) << 1;
    right[depth + 1] = (right[depth] | place) >> 1;
    ++depth;
    stack[depth] = all & ~(columns[depth] | left[depth] | right[depth]);
  }
  out[item] = solutions;
}
__kernel void walk(__global const uint* in, __global uint* out, uint rounds) {
  uint item = get_global_id(0), places[8], at = in[item], sum = 0, last = at & rounds;
  for (uint i = 0; i < 8; ++i) places[i] = in[item] * i;
  for (uint i = 0; i < last; ++i) {
    uint found = places[(at >> i) & 7];
    if (found & 1)
      places[(at >> i) & 7] = found * 3 + i;
    else
      sum ^= found + i;
    at = at * 5 + found;
  }
  for (uint i = 0; i < 8; ++i) sum = sum * 7 + places[i];
  out[item] = sum;
}
// Private arrays that are too large for registers: the way through a tree, and an index that may be anything.
__kernel void tree(__global const uint* in, __global uint* out, uint n) {
  uint stack[40], top = 0, sum = 0, item = get_global_id(0);
  stack[top++] = 1;
  while (top != 0) {
    uint k = stack[--top], v = in[(k * 37 + item) % 150];
    sum = sum * 31 + k;
    if (k < n && (v & 6)) {
      stack[top++] = 2 * k;
      if (v & 8) stack[top++] = 2 * k + 1;
    }
  }
  out[item] = sum;
}
__kernel void anywhere(__global const uint* in, __global uint* out, uint rounds, uint mask) {
  uint item = get_global_id(0), a[48], at = in[item], sum = 0, last = at & rounds;
  for (uint i = 0; i < 48; ++i) a[i] = at * i + item;
  for (uint i = 0; i <= last; ++i) {
    uint k = at >> 7 & mask;
    if (at & 1) a[k] = sum + i;
    sum = sum * 5 ^ a[at >> 11 & 31];
    at = at * 1664525u + 1013904223u;
  }
  out[item] = sum;
}
// A register gets a constant in all lanes that are on, and another one's value in those that go on.
__kernel void tables(__global uint* out, uint m) {
  uint x = get_global_id(0) * 2654435761u + 12345u, s = 0, i = x % 4u, j = (x >> 7) % 4u, t = 0, a[4], b[4];
  for (uint q = 0; q < 4; ++q) a[q] = (x >> q) * 62u + q;
  for (uint q = 0; q < 4; ++q) b[q] = (x >> q) * 12u + q;
  uint limit = (x >> 3) % m + 1, n = 0;
  while (n < limit) {
    ++n;
    if (s > b[i ? i - 1 : 0]) {
      i = (x + i) % 4u;
      if (t > a[1]) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        a[min(i + 1, 3u)] = x | b[s & 4 ? j : i];
      }
      t = a[min(i + 1, 3u)];
      a[i] = n;
      s += t;
    }
    if ((s & 127) == 7) break;
    if (t == 5 && i > j) continue;
    x = x * 1664525u + 1013904223u;
    i = (i + (x >> 28)) % 4u;
  }
  out[get_global_id(0)] = s ^ t ^ n;
}
)");
  constexpr uint32_t kItems = 150;
  expect_same(code, {{"queens", {kItems, 1, 1}, {64, 1, 1}, {buffer(0), value(7u)}}}, {Bytes(kItems * 4)});
  for (const uint32_t most : {1u, 40u})
    expect_same(code, {{"tables", {kItems, 1, 1}, {64, 1, 1}, {buffer(0), value(most)}}},
                {Bytes(kItems * 4)});
  Bytes numbers(kItems * 4);
  std::mt19937 random(5);
  for (std::byte& byte : numbers) byte = static_cast<std::byte>(random());
  for (const uint32_t n : {1u, 50u, 4000u})
    expect_same(code, {{"tree", {kItems, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), value(n)}}},
                {numbers, Bytes(kItems * 4)});
  const auto anywhere = [&](uint32_t mask) {
    return TestDispatch{
        "anywhere", {kItems, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), value(63u), value(mask)}};
  };
  expect_same(code, {anywhere(31)}, {numbers, Bytes(kItems * 4)});
  // Beyond a lane's scratch.
  const auto fault_on = [&](machine::EngineKind engine) {
    return run(code, {anywhere(0xffff)}, {numbers, Bytes(kItems * 4)}, engine).outcome.fault;
  };
  const auto expected = fault_on(machine::EngineKind::interpreter),
             found = fault_on(machine::EngineKind::translator);
  ASSERT_TRUE(expected && found);
  EXPECT_EQ(found->group, expected->group);
  EXPECT_EQ(found->wave, expected->wave);
  EXPECT_EQ(found->instruction, expected->instruction);
  EXPECT_EQ(found->fault.lane, expected->fault.lane);
  EXPECT_EQ(found->fault.message, expected->fault.message);
  // The last are more rounds than are kept of lanes: the wave goes through the loop as a wave.
  for (const uint32_t rounds : {1u, 63u, 0x1ffffu})
    expect_same(code, {{"walk", {kItems, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), value(rounds)}}},
                {numbers, Bytes(kItems * 4)});
}

}  // namespace
}  // namespace lockstep::translator
