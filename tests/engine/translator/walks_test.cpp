// Work-items that each walk through memory of their own, whose elements are loaded ahead: what the wave
// writes itself has to be seen, and lanes that do not keep step get what is theirs.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "engine/translator/lane_pattern.h"
#include "engine/translator/walk_plan.h"
#include "tests/engine/translator/engine_pair.h"
#include "tests/engine/translator/test_kernel.h"

namespace lockstep::translator {
namespace {

const Bytes& code() {
  static const Bytes bytes = compile(R"(
__kernel void rows(__global const uint* a, __global const uint* x, __global uint* y, uint n) {
  uint row = get_global_id(0), sum = 0;
  for (uint i = 0; i < n; ++i) sum = sum * 3 + a[row * n + i] * x[i];
  y[row] = sum;
}
__kernel void wide_rows(__global const ulong* a, __global ulong* y, uint n) {
  uint row = get_global_id(0);
  ulong sum = 0;
  for (uint i = 0; i < n; ++i) sum = sum * 3 + a[row * n + i];
  y[row] = sum;
}
// Of lengths that differ, from places that memory names.
__kernel void lists(__global const uint* first, __global const uint* a, __global uint* y) {
  uint row = get_global_id(0), sum = 0;
  for (uint i = first[row]; i < first[row + 1]; ++i) sum = sum * 3 + a[i];
  y[row] = sum;
}
// The inner loop begins anew while there is something left that it has loaded ahead.
__kernel void restarts(__global const uint* first, __global const uint* a, __global uint* y, uint n) {
  uint row = get_global_id(0), sum = 0;
  for (uint round = 0; round < n; ++round) {
    for (uint i = first[row]; i < first[row + 1]; ++i) sum = sum * 3 + a[i];
    sum ^= sum >> 7;
  }
  y[row] = sum;
}
// The last wave finds out in the middle of each round that the other load is not what was expected of it.
__kernel void mixed(__global const uint* first, __global const uint* a, __global const uint* x, __global uint* y, uint n) {
  uint row = get_global_id(0), sum = 0;
  for (uint i = first[row], j = 0; i < first[row + 1]; ++i, j += n) sum = sum * 3 + a[i] * x[row + j];
  y[row] = sum;
}
// What is written comes to be read so many rounds later.
__kernel void behind(__global uint* in, __global uint* out, uint n, uint distance) {
  uint row = get_global_id(0), sum = 0;
  for (uint i = 0; i < n; ++i) {
    sum = sum * 3 + in[row * (n + distance) + i];
    out[row * (n + distance) + i + distance] = sum;
  }
}
__kernel void added(__global uint* in, __global uint* out, uint n, uint distance) {
  uint row = get_global_id(0), sum = 0;
  for (uint i = 0; i < n; ++i) {
    sum = sum * 3 + in[row * (n + distance) + i];
    atomic_add(&out[row * (n + distance) + i + distance], sum);
  }
}
// Written behind the loop, which begins again where it has stopped.
__kernel void again(__global uint* in, __global uint* out, uint n) {
  uint row = get_global_id(0), sum = 0, i = 0;
  for (uint round = 1; round < n; ++round) {
    for (; i < round * 3; ++i) sum = sum * 3 + in[row * 3 * n + i];
    out[row * 3 * n + i] = sum;
  }
}
// The same, but what is written is so at another address; each round asks for what others have written.
#define AT_TWO_PLACES(name, instruction)                                                           \
  __kernel void name(__global const uint* in, __global uint* out, uint n) {                        \
    uint row = get_global_id(0), sum = 0;                                                          \
    for (uint i = 0; i < n; ++i) {                                                                 \
      sum = sum * 3 + in[row * (n + 1) + i];                                                       \
      out[row * (n + 1) + i + 1] = sum;                                                            \
      __asm__ volatile(instruction ::: "memory");                                                  \
    }                                                                                              \
  }
AT_TWO_PLACES(invalidates, "buffer_gl0_inv")
AT_TWO_PLACES(waits, "s_waitcnt_vscnt null, 0x0")
// Half of the lanes stand still for two rounds, or go on by one element in these, when all have been loaded ahead; or take no part in two, when
// the others are.
__kernel void pauses(__global const uint* a, __global uint* y, uint n, uint step) {
  uint row = get_global_id(0), sum = 0, at = row * n;
  for (uint i = 0; i < n; ++i)
    if (!(row & 1) || i % 12 / 2 != 2)
      sum = sum * 3 + a[at++];
    else
      at += i & step;
  y[row] = sum;
}
__kernel void skips(__global const uint* a, __global uint* y, uint n) {
  uint row = get_global_id(0), sum = 0, at = row * n;
  for (uint i = 0; i < n; ++i) {
    if (!(row & 1) || (i + 11) % 12 > 1) sum = sum * 3 + a[at];
    ++at;
  }
  y[row] = sum;
}
// Each row is written, so far from the next one. Indices have signs: compilers count addresses then.
__kernel void written(__global const uint* in, __global uint* out, int n, int pitch) {
  int row = get_global_id(0);
  uint sum = 0;
  for (int i = 0; i < n; ++i) {
    sum = sum * 3 + in[row * n + i];
    out[row * pitch + i] = sum;
  }
}
// And read again, so many rounds later.
__kernel void written_ahead(__global const uint* in, __global uint* out, int n, int pitch, int distance) {
  int row = get_global_id(0);
  uint sum = 0;
  for (int i = 0; i < n; ++i) {
    sum = sum * 3 + in[row * pitch + i];
    out[row * pitch + i + distance] = sum;
  }
}
__kernel void wide_written(__global const ulong* in, __global ulong* out, int n, int pitch) {
  int row = get_global_id(0);
  ulong sum = 0;
  for (int i = 0; i < n; ++i) {
    sum = sum * 3 + in[row * n + i];
    out[row * pitch + i] = sum;
  }
}
// With doubt where there are NaNs.
__kernel void sums(__global const float* in, __global float* out, int n, int pitch) {
  int row = get_global_id(0);
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += in[row * n + i];
    out[row * pitch + i] = sum;
  }
}
__kernel void lists_written(__global const int* first, __global const uint* in, __global uint* out) {
  int row = get_global_id(0);
  uint sum = 0;
  for (int i = first[row]; i < first[row + 1]; ++i) {
    sum = sum * 3 + in[i];
    out[i] = sum;
  }
}
// Lanes take the next element in some rounds only, or jump.
__kernel void uneven(__global const uint* a, __global uint* y, uint n, uint rounds) {
  uint row = get_global_id(0), sum = 0, at = row * n;
  for (uint i = 0; i < rounds; ++i) {
    uint choice = (row * 0x9e3779b9u + (i / 5) * 0x85ebca6bu) >> 27;
    if (choice < 20) sum = sum * 3 + a[at];
    if (choice < 22) at += 1;
    if (choice == 22) at = row * n + i;
  }
  y[row] = sum;
}
)");
  return bytes;
}

Bytes words(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint32_t> values(count);
  for (uint32_t& value : values) value = random();
  Bytes bytes(count * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

constexpr uint32_t kItems = 200;  // the last wave is not full

TestDispatch dispatch(const char* kernel, std::vector<TestArgument> arguments) {
  return {kernel, {kItems, 1, 1}, {64, 1, 1}, std::move(arguments), 0};
}

TEST(Walks, RowsOfAMatrix) {
  for (const uint32_t n : {1u, 2u, 7u, 8u, 9u, 10u, 23u, 24u, 25u, 37u, 40u, 41u, 64u})
    expect_same(code(), {dispatch("rows", {buffer(0), buffer(1), buffer(2), value(n)})},
                {words(kItems * n, 1), words(n, 2), Bytes(kItems * 4)});
}

TEST(Walks, ElementsOf64Bits) {
  for (const uint32_t n : {3u, 5u, 12u, 13u, 33u})
    expect_same(code(), {dispatch("wide_rows", {buffer(0), buffer(1), value(n)})},
                {words(kItems * n * 2, 3), Bytes(kItems * 8)});
}

// Places of lists in a buffer, one behind the other, and so many elements in all.
std::pair<Bytes, uint32_t> lists() {
  std::mt19937 random(4);
  std::vector<uint32_t> first = {0};
  while (first.size() <= kItems) first.push_back(first.back() + random() % 30);
  Bytes bytes(first.size() * 4);
  std::memcpy(bytes.data(), first.data(), bytes.size());
  return {bytes, first.back()};
}

TEST(Walks, ListsOfSeveralLengths) {
  const auto [first, count] = lists();
  expect_same(code(), {dispatch("lists", {buffer(0), buffer(1), buffer(2)})},
              {first, words(count, 5), Bytes(kItems * 4)});
}

TEST(Walks, LoopsThatBeginAnew) {
  const auto [first, count] = lists();
  expect_same(code(), {dispatch("restarts", {buffer(0), buffer(1), buffer(2), value(3u)})},
              {first, words(count, 12), Bytes(kItems * 4)});
}

TEST(Walks, RoundsThatAreDoneAgain) {
  const auto [first, count] = lists();
  for (const uint32_t n : {0u, 1u})
    expect_same(code(), {dispatch("mixed", {buffer(0), buffer(1), buffer(2), buffer(3), value(n)})},
                {first, words(count, 14), words(kItems + 30 * n, 15), Bytes(kItems * 4)});
}

TEST(Walks, WhatTheWaveWritesIsSeen) {
  for (const char* kernel : {"behind", "added"})
    for (const uint32_t distance : {0u, 1u, 3u, 7u, 8u, 15u, 16u, 20u, 24u}) {
      const uint32_t n = 60;
      const Bytes rows = words(kItems * (n + distance), 6);
      expect_same(code(), {dispatch(kernel, {buffer(0), buffer(0), value(n), value(distance)})}, {rows});
      // Elsewhere.
      expect_same(code(), {dispatch(kernel, {buffer(0), buffer(1), value(n), value(distance)})},
                  {rows, rows});
    }
}

// The wave does not know that it writes there, as if another one did.
TEST(Walks, WhatOthersWriteIsSeenWhereTheWaveAsks) {
  for (const char* kernel : {"invalidates", "waits"}) {
    const uint32_t n = 40;
    TestDispatch both = dispatch(kernel, {buffer(0), buffer(1), value(n)});
    both.twice = 0;
    expect_same(code(), {both}, {words(kItems * (n + 1), 11)});
  }
}

// What lanes of a round write close to each other, and over what others have written, is written in order.
TEST(Walks, RowsThatAreWritten) {
  for (const uint32_t n : {1u, 7u, 8u, 9u, 16u, 24u, 25u, 41u})
    for (const uint32_t pitch : {0u, 1u, 3u, 7u, 8u, 9u, 15u, 16u, 17u, 40u}) {
      expect_same(code(), {dispatch("written", {buffer(0), buffer(1), value(n), value(pitch)})},
                  {words(kItems * n, 20), words(kItems * pitch + n, 21)});
      expect_same(code(), {dispatch("wide_written", {buffer(0), buffer(1), value(n), value(pitch)})},
                  {words(kItems * n * 2, 22), words((kItems * pitch + n) * 2, 23)});
    }
}

TEST(Walks, RowsThatAreWrittenWhereTheyAreRead) {
  constexpr uint32_t kRounds = 57, kPitch = kRounds + 40;
  for (const uint32_t distance : {1u, 3u, 7u, 8u, 9u, 15u, 16u, 17u, 30u})
    expect_same(
        code(),
        {dispatch("written_ahead", {buffer(0), buffer(0), value(kRounds), value(kPitch), value(distance)})},
        {words(kItems * kPitch, 31)});
}

TEST(Walks, RowsThatAreWrittenInSeveralTurns) {
  constexpr uint32_t kRounds = 5003;
  expect_same(code(), {dispatch("written", {buffer(0), buffer(1), value(kRounds), value(kRounds)})},
              {words(kItems * kRounds, 24), words(kItems * kRounds, 25)});
}

TEST(Walks, ListsThatAreWritten) {
  const auto [first, count] = lists();
  expect_same(code(), {dispatch("lists_written", {buffer(0), buffer(1), buffer(2)})},
              {first, words(count, 26), words(count, 27)});
}

// Waves leave in the middle of the rounds whose results are stored at once.
TEST(Walks, RowsThatAreWrittenUpToANaN) {
  constexpr uint32_t kRounds = 40;
  std::vector<float> in(kItems * kRounds, 1.25f);
  for (uint32_t row = 0; row < kItems; row += 29) in[row * kRounds + row % kRounds] = NAN;
  Bytes bytes(in.size() * 4);
  std::memcpy(bytes.data(), in.data(), bytes.size());
  expect_same(code(), {dispatch("sums", {buffer(0), buffer(1), value(kRounds), value(kRounds + 1)})},
              {bytes, words(kItems * (kRounds + 1), 28)});
}

// All that was written before the fault is there.
TEST(Walks, RowsThatAreWrittenUpToAFault) {
  constexpr uint32_t kRounds = 40;
  const auto run_on = [&](machine::EngineKind engine, size_t dwords_in, size_t dwords_out) {
    return run(
        code(),
        {{"written", {32, 1, 1}, {32, 1, 1}, {buffer(0), buffer(1), value(kRounds), value(kRounds)}, 0}},
        {words(dwords_in, 29), words(dwords_out, 30)}, engine);
  };
  constexpr size_t kAll = 32 * kRounds;
  for (const size_t missing : {4u, 5u, 8u, 11u, 39u})
    for (const bool is_input : {false, true}) {
      const size_t in = kAll - (is_input ? missing : 0), out = kAll - (is_input ? 0 : missing);
      const TestResult expected = run_on(machine::EngineKind::interpreter, in, out),
                       result = run_on(machine::EngineKind::translator, in, out);
      ASSERT_TRUE(expected.outcome.fault.has_value());
      ASSERT_TRUE(result.outcome.fault.has_value());
      EXPECT_EQ(expected.outcome.fault->instruction, result.outcome.fault->instruction);
      EXPECT_EQ(expected.outcome.fault->fault.address - expected.buffer_addresses[is_input ? 0 : 1],
                result.outcome.fault->fault.address - result.buffer_addresses[is_input ? 0 : 1]);
      EXPECT_EQ(expected.buffers, result.buffers) << missing << " of " << (is_input ? "in" : "out");
    }
}

TEST(Walks, StoresThatWalk) {
  const auto count = [](const std::string& store, const std::string& steps) {
    return find_walking_stores(routine_of("again: " + store + "\n" + steps +
                                          "\nv_cmp_ge_u32 s0, v8, v9\ns_and_not1_b32 exec_lo, exec_lo, s0\n"
                                          "s_cbranch_execnz again"),
                               0)
        .size();
  };
  const std::string pair = "global_store_b32 v[2:3], v4, off", based = "global_store_b32 v2, v4, s[4:5]";
  const std::string steps = "v_add_co_u32 v2, vcc_lo, v2, 4\nv_add_co_ci_u32 v3, vcc_lo, 0, v3, vcc_lo\n";
  EXPECT_EQ(count(pair, steps), 1u);
  EXPECT_EQ(count(pair, steps + "global_load_b32 v4, v[6:7], off"), 1u);
  EXPECT_EQ(count(based, "v_add_nc_u32 v2, 4, v2"), 1u);
  EXPECT_EQ(count("global_store_b64 v2, v[4:5], s[4:5]", "v_add_nc_u32 v2, 8, v2"), 1u);
  EXPECT_EQ(count("global_store_b64 v2, v[4:5], s[4:5]", "v_add_nc_u32 v2, 4, v2"), 0u);
  EXPECT_EQ(count("global_store_b8 v2, v4, s[4:5]", "v_add_nc_u32 v2, 1, v2"), 0u);
  EXPECT_EQ(count(pair + " glc", steps), 0u);
  // Others that write or look, lanes that come back, waits.
  for (const char* other :
       {"global_store_b32 v[6:7], v4, off", "s_load_b32 s8, s[6:7], 0x0", "buffer_gl0_inv",
        "s_waitcnt_vscnt null, 0x0", "s_or_b32 exec_lo, exec_lo, s5", "global_atomic_add_u32 v[6:7], v4, off",
        "scratch_store_b32 off, v4, off", "flat_load_b32 v4, v[6:7]"})
    EXPECT_EQ(count(pair, steps + other), 0u) << other;
}

TEST(Walks, WhatIsWrittenBetweenTwoLoopsIsSeen) {
  const uint32_t n = 12;
  expect_same(code(), {dispatch("again", {buffer(0), buffer(0), value(n)})}, {words(kItems * 3 * n, 7)});
}

TEST(Walks, LanesThatDoNotKeepStep) {
  const uint32_t n = 80;
  expect_same(code(), {dispatch("uneven", {buffer(0), buffer(1), value(n), value(n)})},
              {words(kItems * n, 8), Bytes(kItems * 4)});
}

TEST(Walks, LanesThatAreOffForAWhile) {
  const uint32_t n = 50;
  const std::vector<Bytes> buffers = {words(kItems * n, 8), Bytes(kItems * 4)};
  expect_same(code(), {dispatch("skips", {buffer(0), buffer(1), value(n)})}, buffers);
  for (const uint32_t step : {0u, 1u})
    expect_same(code(), {dispatch("pauses", {buffer(0), buffer(1), value(n), value(step)})}, buffers);
}

// The same of what is known of addresses: LDS is read at one place for all lanes, GLOBAL not at places that
// memory names.
TEST(LanePatterns, HalvesOfAPairAreNotOneAnothers) {
  const auto patterns_of = [](const std::string& pair) {
    const Routine routine = routine_of("global_load_b32 v5, v0, s[4:5]\ns_waitcnt vmcnt(0)\n" + pair +
                                       "\nds_load_b32 v6, v3\nglobal_load_b32 v7, v3, s[4:5]");
    const LanePatterns patterns = guess_lane_patterns(routine);
    std::pair<bool, bool> found;
    for (size_t n = 1; n < routine.nodes.size(); ++n) {
      found.first |= patterns.lds_strides[n] == 0u;
      found.second |= patterns.has_loaded_address[n];
    }
    return found;
  };
  EXPECT_EQ(patterns_of("v_dual_mov_b32 v2, v5 :: v_dual_mov_b32 v3, s8"), std::pair(true, false));
  EXPECT_EQ(patterns_of("v_dual_mov_b32 v2, s8 :: v_dual_mov_b32 v3, v5"), std::pair(false, true));
  EXPECT_EQ(patterns_of("v_dual_mov_b32 v2, v5 :: v_dual_mov_b32 v3, v0"), std::pair(false, false));
}

// A row that memory names, the same for all lanes, and its element that the lane names.
TEST(LanePatterns, WhatAllLanesLoadNamesNoLane) {
  const auto has_loaded_address = [](const std::string& index, const std::string& address) {
    const Routine routine = routine_of(index + "\nglobal_load_b32 v5, v1, s[4:5]\ns_waitcnt vmcnt(0)\n" +
                                       address + "\nglobal_load_b32 v7, v3, s[4:5]");
    const LanePatterns patterns = guess_lane_patterns(routine);
    size_t last = 0;
    for (size_t n = 0; n < routine.nodes.size(); ++n)
      if (routine.nodes[n].kind == NodeKind::global) last = n;
    return static_cast<bool>(patterns.has_loaded_address[last]);
  };
  const std::string sum = "v_add_nc_u32 v3, v5, v0";
  EXPECT_FALSE(has_loaded_address("v_bfe_u32 v1, v0, 10, 10", sum));
  EXPECT_FALSE(has_loaded_address("v_mov_b32 v1, s8", sum));
  EXPECT_TRUE(has_loaded_address("v_and_b32 v1, 0x3ff, v0", sum));
  EXPECT_TRUE(has_loaded_address("v_bfe_u32 v1, v0, 9, 10", sum));
  // What is at a place that was loaded for each lane.
  EXPECT_TRUE(has_loaded_address("global_load_b32 v1, v0, s[4:5]\ns_waitcnt vmcnt(0)", sum));
}

// Compilers put the step to the next element and a move of what was loaded into one instruction.
TEST(Walks, HalvesOfAPairAreNotOneAnothers) {
  const auto walks_with = [](const std::string& pair) {
    return find_walks(routine_of("again: global_load_b32 v4, v1, s[4:5]\ns_waitcnt vmcnt(0)\n" + pair +
                                 "\nv_mov_b32 v1, v2\ns_sub_u32 s0, s0, 1\ns_cbranch_scc0 again"),
                      0)
        .size();
  };
  EXPECT_EQ(walks_with("v_dual_mov_b32 v3, v4 :: v_dual_add_nc_u32 v2, 4, v1"), 1u);
  EXPECT_EQ(walks_with("v_dual_mov_b32 v3, v1 :: v_dual_add_nc_u32 v2, 4, v4"), 0u);
  // What it adds to was loaded.
  EXPECT_EQ(walks_with("v_dual_fmac_f32 v4, v0, v5 :: v_dual_mov_b32 v3, v1\nv_mov_b32 v2, v4"), 0u);
}

// Of loops that are one block.
TEST(Walks, AreCertainWhereTheCodeSaysSo) {
  const auto is_certain = [](const std::string& load, const std::string& steps) {
    const std::vector<WalkingLoad> walks =
        find_walks(routine_of("again: " + load + "\ns_waitcnt vmcnt(0)\n" + steps +
                              "\nv_cmp_ge_u32 s0, v8, v9\ns_and_not1_b32 exec_lo, exec_lo, s0\n"
                              "s_cbranch_execnz again"),
                   0);
    return walks.size() == 1 && walks[0].is_certain;
  };
  const std::string pair = "global_load_b32 v4, v[2:3], off";
  const std::string low = "v_add_co_u32 v2, vcc_lo, v2, 4\n",
                    high = "v_add_co_ci_u32 v3, vcc_lo, 0, v3, vcc_lo\n";
  EXPECT_TRUE(is_certain(pair, low + "v_add_nc_u32 v8, 1, v8\n" + high));
  EXPECT_TRUE(is_certain("global_load_b64 v[4:5], v[2:3], off",
                         "v_add_co_u32 v2, s1, v2, 8\nv_add_co_ci_u32 v3, s1, 0, v3, s1"));
  // Other steps, other halves, other carries, lanes that do not count or come back, what is written in
  // between.
  EXPECT_FALSE(is_certain(pair, "v_add_co_u32 v2, vcc_lo, v2, 8\n" + high));
  EXPECT_FALSE(is_certain(pair, low + "v_add_co_ci_u32 v3, vcc_lo, 1, v3, vcc_lo"));
  EXPECT_FALSE(is_certain(pair, low + "v_add_co_ci_u32 v3, vcc_lo, 0, v3, s1"));
  EXPECT_FALSE(is_certain(pair, low + "v_cmp_eq_u32 vcc_lo, v8, v9\n" + high));
  EXPECT_FALSE(is_certain(pair, high + low));
  EXPECT_FALSE(is_certain(pair, low + high + low));
  EXPECT_FALSE(is_certain(pair, low + high + "v_mov_b32 v2, v9"));
  EXPECT_FALSE(is_certain(pair, low + high + "s_or_b32 exec_lo, exec_lo, s5"));
  EXPECT_FALSE(is_certain(pair, low + high + "global_store_b32 v8, v9, s[2:3]"));
  EXPECT_FALSE(is_certain(pair, low + high + "s_waitcnt_vscnt null, 0x0"));
  EXPECT_FALSE(is_certain(pair, low + high + "buffer_gl0_inv"));

  // Places that count from a base.
  const std::string based = "global_load_b32 v4, v2, s[4:5]";
  EXPECT_TRUE(is_certain(based, "v_add_nc_u32 v2, 4, v2"));
  EXPECT_TRUE(is_certain(based, "v_dual_mov_b32 v5, v4 :: v_dual_add_nc_u32 v2, 4, v2"));
  EXPECT_TRUE(is_certain(based, "s_add_u32 s4, s4, 4\ns_addc_u32 s5, s5, 0"));
  EXPECT_FALSE(is_certain(based, "v_dual_mov_b32 v5, v4 :: v_dual_add_nc_u32 v2, 4, v8"));
  EXPECT_FALSE(is_certain(based, "v_add_nc_u32 v2, 4, v2\ns_add_u32 s4, s4, 4"));
  EXPECT_FALSE(is_certain(based, "s_add_u32 s4, s4, 4\ns_cmp_eq_u32 s6, 0\ns_addc_u32 s5, s5, 0"));
}

// Of groups in rows the kernel's arguments are loaded once, unless the kernel writes them.
TEST(Arguments, WhatTheKernelWritesIsSeen) {
  const Bytes kernels = compile(R"(
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void store(__global uint* out, __global uint* arguments, uint n) {
  uint i = get_global_id(0);
  out[i] = n;
  if (i % 100 == 50) arguments[4] = n + i;
}
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void side_by_side(__global uint* out, __global uint* arguments, uint4 n) {
  uint i = get_global_id(0);
  out[i] = n.x + n.y * 3 + n.z * 5 + n.w * 7;
  if (i / 32 % 5 == 2 && i % 32 < 4) arguments[4 + i % 32] = i;
}
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void add(__global uint* out, __global uint* arguments, uint n) {
  uint i = get_global_id(0);
  out[i] = n;
  if (i % 32 == 3) atomic_add(&arguments[4], i);
}
)");
  const std::array<uint32_t, 4> four = {7, 8, 9, 10};
  for (const char* kernel : {"store", "side_by_side", "add"}) {
    const bool has_four = std::string(kernel) == "side_by_side";
    TestDispatch dispatch{
        kernel, {6400, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), has_four ? value(four) : value(7u)}, 0};
    dispatch.arguments_in = 1;
    expect_same(kernels, {dispatch}, {Bytes(6400 * 4), Bytes(4096)});
  }
}

// In waves of 64, too.
TEST(Walks, WavesOf64) {
  const Bytes wide = compile(R"(
__kernel void sums(__global uint* in, __global uint* out, uint n) {
  uint row = get_global_id(0), sum = 0;
  for (uint i = 0; i < n; ++i) {
    sum = sum * 3 + in[row * (n + 1) + i];
    out[row * (n + 1) + i + 1] = sum;
  }
}
)",
                             64);
  for (const uint32_t n : {30u, 60u})
    for (const int second : {0, 1})
      expect_same(wide, {dispatch("sums", {buffer(0), buffer(second), value(n)})},
                  {words(kItems * (n + 1), 9), words(kItems * (n + 1), 10)});
}

}  // namespace
}  // namespace lockstep::translator
