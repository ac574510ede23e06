// Work-groups of a row of the grid that run side by side: one wave of each, then the next one of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "engine/translator/translator.h"
#include "tests/engine/interpreter/test_wave.h"
#include "tests/engine/translator/test_kernel.h"

namespace lockstep::translator {
namespace {

constexpr const char* kSource = R"(
__kernel __attribute__((reqd_work_group_size(32, 8, 1)))
void tickets(__global uint* out, __global uint* counter, uint width) {
  uint i = get_global_id(1) * width + get_global_id(0), ticket = 0;
  if (get_local_id(0) == 0) ticket = atomic_inc(counter);
  out[i] = ticket;
}
#define SCALE(NAME, X, Y)                                                                          \
  __kernel __attribute__((reqd_work_group_size(X, Y, 1)))                                          \
  void NAME(__global float* out, __global const float* in, uint width) {                           \
    uint i = get_global_id(1) * width + get_global_id(0);                                          \
    out[i] += in[i] * 1.5f + (float)get_group_id(0);                                               \
  }
SCALE(scale_32, 32, 8)
SCALE(scale_64, 64, 4)
SCALE(scale_16, 16, 16)
SCALE(scale_100, 100, 1)
SCALE(scale_33, 33, 1)
// Each item of a picture and its neighbours, but at the edges.
__kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void blur(__global float* out, __global const float* in, uint width, uint height) {
  uint x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  __global const float* at = in + (y * width + x);
  float sum = at[0];
  if (x > 0 && y > 0 && x < width - 1 && y < height - 1) sum += at[-1] + at[1] + at[-(int)width] + at[width];
  out[y * width + x] = sum;
}
// The register with the item's id is the loop's, too, which keeps it in the Wave.
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void matches(__global const uchar* text, __global const uchar* pattern, __global uchar* found, uint n) {
  uint i = get_global_id(0), j = 0;
  while (j < n && text[i + j] == pattern[j]) ++j;
  found[i] = j + 1;
}
// How many dwords are equal from each on that differs from the one before: others take no part, and lanes
// leave the loop in any order.
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void runs(__global const uint* in, __global uint* out, uint n) {
  uint i = get_global_id(0), first = in[i], length = 1;
  if (i != 0 && in[i - 1] == first) { out[i] = 0; return; }
  while (i + length < n && in[i + length] == first) ++length;
  out[i] = length;
}
// Both blocks go by the same index, of 32 bits and of 64.
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void guarded(__global float* out, __global const float* in, uint n) {
  uint i = get_global_id(0);
  if (i < n) out[i] = in[i] * 1.5f + (float)i;
}
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void guarded_far(__global float* out, __global const float* in, ulong first, ulong n) {
  ulong i = first + get_global_id(0);
  if (i < n) (out - first)[i] = (in - first)[i] * 1.5f + (float)(uint)i;
}
// What all items have is computed before the row: quotients and functions of arguments, and of these.
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void arguments(__global float* out, __global const float* in, float a, float b, uint n, int m) {
  uint i = get_global_id(0);
  float x = in[i] / a + 1.0f / b + native_sqrt(b) * native_recip(a);
  out[i] = x + (float)(i / n % 7) + (float)((int)i % m) + native_exp(a - b) + (float)(n / (uint)(m & 15 | 1));
}
// Items take other ways between what they load and what they store. One way's index ends at a bound, so that
// some lanes of a wave are not side by side there.
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void branches(__global float* out, __global const float* in, ulong first, uint last, uint way) {
  ulong i = first + get_global_id(0);
  float v = (in - first)[i];
  if (v > 3.0f) v += in[min((uint)get_global_id(0) + 5, last)];
  if (v < 1.0f) {
    v *= 0.5f;
  } else {
    v -= (in - first)[i ^ 1];
    if (v > 2.0f) v = v * (in - first)[i] + (out - first)[i];
  }
  if (way & 1) v += (out - first)[i];
  (out - first)[i] = v;
}
__kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void least_neighbour(__global uint* out, __global const uint* in, uint width, uint height) {
  uint x = get_global_id(0), y = get_global_id(1), i = y * width + x, l = in[i];
  if (x > 0 && (l & 1)) l = min(l, in[i - 1]);
  if (x < width - 1 && (l & 2)) l = min(l, in[i + 1]);
  if (y > 0 && (l & 4)) l = min(l, in[i - width]);
  if (y < height - 1) l = min(l, in[i + width]);
  out[i] = l;
}
// Rows of pictures, or one row for all, chosen by what all items have alike, in rounds that begin with what was
// found before them.
__kernel __attribute__((reqd_work_group_size(32, 8, 1)))
void rows(__global float* out, __global const float* a, __global const float* b, int width, int height, int height_a,
          int height_b) {
  int y = get_global_id(1);
  if (y >= height) return;
  a += (height_a == height) * y * width;
  b += (height_b == height ? y : 0) * width;
  out += y * width;
#pragma unroll 1
  for (int x = get_global_id(0); x < width; x += get_global_size(0)) out[x] = a[x] * 2.0f + b[x];
}
// A loop whose lanes are side by side but at the right edge, and store in each round.
__kernel __attribute__((reqd_work_group_size(32, 8, 1)))
void smear(__global float* out, __global const float* in, uint width, uint reach, __global const uchar* gains) {
  uint x = get_global_id(0), y = get_global_id(1);
#pragma unroll 1
  for (uint k = 0; k <= reach; ++k)
    out[y * width + x] += in[y * width + min(x + k, width - 1)] * (float)gains[y * width + min(x + k, width - 1)];
}
)";

const Bytes& code() {
  static const Bytes bytes = compile(kSource);
  return bytes;
}

constexpr uint32_t kWidth = 32 * 40, kHeight = 8 * 3;

std::vector<uint32_t> words_of(const Bytes& bytes) {
  std::vector<uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

TEST(Rows, RunTheFirstWaveOfAllGroupsFirst) {
  const TestDispatch dispatch{
      "tickets", {kWidth, kHeight, 1}, {32, 8, 1}, {buffer(0), buffer(1), value(kWidth)}};
  const TestResult result =
      run(code(), {dispatch}, {Bytes(kWidth * kHeight * 4), Bytes(4)}, machine::EngineKind::translator);
  EXPECT_EQ(result.outcome.note, "");
  const auto tickets = words_of(result.buffers[0]);
  const auto ticket = [&](uint32_t group, uint32_t row) { return tickets[row * kWidth + group * 32]; };
  // The second row of groups, behind what one group had to find out first.
  for (uint32_t group = 0; group + 1 < kWidth / 32; ++group)
    for (uint32_t row = 8; row < 15; ++row) {
      EXPECT_EQ(ticket(group + 1, row), ticket(group, row) + 1) << group << " " << row;
      EXPECT_LT(ticket(group + 1, row), ticket(group, row + 1)) << group << " " << row;
    }
  // Each wave has run once.
  std::vector<uint32_t> all;
  for (uint32_t group = 0; group < kWidth / 32; ++group)
    for (uint32_t row = 0; row < kHeight; ++row) all.push_back(ticket(group, row));
  std::ranges::sort(all);
  for (uint32_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i);
}

// What a wave has left there is not what the next group's begins with.
TEST(Rows, BeginEachWaveWithItsOwnItems) {
  constexpr uint32_t kItems = 64 * 24, kLength = 8;
  Bytes text(kItems + kLength);
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::byte>((i * i + i / 5) & 1);
  Bytes pattern(kLength);
  for (size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<std::byte>(i / 2 & 1);
  const TestDispatch dispatch{
      "matches", {kItems, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), buffer(2), value(kLength)}};
  const TestResult result = expect_same(code(), {dispatch}, {text, pattern, Bytes(kItems)});
  EXPECT_EQ(std::ranges::count(result.buffers[2], std::byte{0}), 0);
}

// A NaN sends a wave to the interpreter: its group goes on by itself, and so do the others, which are begun.
void expect_to_go_on(uint32_t group_width, uint32_t group, uint32_t row, uint32_t lane) {
  std::vector<float> in(kWidth * kHeight, 2.0f);
  in[row * kWidth + group * group_width + lane] = std::bit_cast<float>(0x7fa00001u);
  Bytes bytes(in.size() * 4);
  std::memcpy(bytes.data(), in.data(), bytes.size());
  const TestDispatch dispatch{"scale_" + std::to_string(group_width),
                              {kWidth, kHeight, 1},
                              {group_width, 256 / group_width, 1},
                              {buffer(0), buffer(1), value(kWidth)}};
  const std::vector<Bytes> buffers{Bytes(bytes.size()), bytes};
  const TestResult result = expect_same(code(), {dispatch}, buffers);
  EXPECT_GT(result.outcome.translation.interpreted, 0u);
  const machine::Progress& totals = result.outcome.totals;
  EXPECT_EQ(totals.groups_done, totals.groups_total);
  EXPECT_EQ(totals.waves, kWidth * kHeight / 32);
  const TestResult threads = run(code(), {dispatch}, buffers, machine::EngineKind::translator, 4);
  EXPECT_TRUE(threads.buffers == result.buffers);
  EXPECT_EQ(threads.outcome.totals.groups_done, totals.groups_total);
  EXPECT_EQ(threads.outcome.totals.waves, totals.waves);
}

TEST(Rows, GoOnBehindAWaveThatLeaves) {
  for (const uint32_t group : {0u, 7u, 19u})
    for (const uint32_t row : {8u, 12u, 13u, 15u}) {
      expect_to_go_on(32, group, row, 17);
      expect_to_go_on(16, group, row, 11);
      for (const uint32_t lane : {3u, 40u}) expect_to_go_on(64, group, row, lane);
    }
}

// One wave of each of so many groups, whose x is in s2.
GroupRow row_of(Wave* const* waves, uint32_t number, uint32_t groups) {
  GroupRow row;
  row.waves = waves;
  row.first_wave = row.wave = number;
  row.last_wave = number + 1;
  row.x_offset = offsetof(Wave, scalar) + 2 * sizeof(uint32_t);
  row.end = groups;
  row.turn = 1000;
  row.most = UINT64_MAX;
  return row;
}

// In groups of 16x16 a wave has two rows of items, of each of which the addresses go on from lane to lane.
TEST(Rows, GoThroughGroupsOfHalfWaves) {
  // s2 is the x of the group; a row of items is 64 dwords.
  const std::vector<uint32_t>& code = interpreter::assembled(R"(
    v_and_b32 v1, 0x3ff, v0
    v_bfe_u32 v2, v0, 10, 10
    v_lshl_add_u32 v1, s2, 4, v1
    v_lshl_add_u32 v1, v2, 6, v1
    v_lshlrev_b32 v1, 2, v1
    global_load_b32 v3, v1, s[0:1]
    s_waitcnt vmcnt(0)
    v_add_nc_u32 v3, 7, v3
    global_store_b32 v1, v3, s[0:1]
    s_endpgm)",
                                                             32);
  const auto entry = reinterpret_cast<uint64_t>(code.data());
  const std::vector<CodeRange> ranges = {{entry, entry + 4 * code.size()}};
  // How the wave is left says which code has run: a RowFunction leaves it as it was.
  const auto state_behind = [&](unsigned lanes_of_code, uint32_t lanes_of_row) {
    interpreter::TestWave test({32, interpreter::best_host_target()});
    Translator engine(ranges, 32, test.ranges(), entry, kMaxVgprs, {}, FirstTier::translator,
                      kDefaultFloatMode, {2, lanes_of_code});
    Wave& wave = test.wave();
    test.fill(0, [](unsigned lane) { return lane % 16 | lane / 16 << 10; });
    test.set_s64(0, test.memory_address());
    for (unsigned i = 0; i < 3 * 64; ++i) test.word(i) = 1000 * i;
    wave.pc = entry;
    wave.state = WaveState::ready;
    Wave* const waves[] = {&wave};
    GroupRow row = row_of(waves, 0, 4);
    row.counting_lanes = lanes_of_row;
    engine.run_row(row);
    EXPECT_EQ(row.x, 4u);
    EXPECT_EQ(row.executed, 4u * 10);
    for (unsigned i = 0; i < 3 * 64; ++i) EXPECT_EQ(test.word(i), 1000 * i + (i < 2 * 64 ? 7 : 0)) << i;
    return wave.state;
  };
  EXPECT_EQ(state_behind(16, 16), WaveState::ready);
  EXPECT_EQ(state_behind(16, 0), WaveState::ended);
  EXPECT_EQ(state_behind(32, 16), WaveState::ended);
}

// The full waves of groups run side by side, and then the last one of each.
TEST(Rows, OfGroupsWhoseLastWaveIsNotFull) {
  for (const uint32_t items : {100u, 33u}) {
    const uint32_t count = items * 150 + 7;
    std::vector<float> in(count);
    for (uint32_t i = 0; i < count; ++i) in[i] = static_cast<float>(i % 1000) * 0.25f;
    Bytes bytes(count * 4);
    std::memcpy(bytes.data(), in.data(), bytes.size());
    const TestDispatch dispatch{
        "scale_" + std::to_string(items), {count, 1, 1}, {items, 1, 1}, {buffer(0), buffer(1), value(count)}};
    const TestResult whole = expect_same(code(), {dispatch}, {bytes, bytes});
    EXPECT_EQ(whole.outcome.translation.interpreted, 0u);
    // In a full wave of a group in the middle, and in a last one.
    for (const uint32_t left : {items * 77 + 20, items * 78 - 1}) {
      Bytes shorter = bytes;
      shorter.resize(size_t{left} * 4);
      const TestResult expected = run(code(), {dispatch}, {bytes, shorter}, machine::EngineKind::interpreter);
      const TestResult result = run(code(), {dispatch}, {bytes, shorter}, machine::EngineKind::translator);
      ASSERT_TRUE(expected.outcome.fault);
      ASSERT_TRUE(result.outcome.fault);
      EXPECT_EQ(expected.outcome.fault->group, result.outcome.fault->group);
      EXPECT_EQ(expected.outcome.fault->wave, result.outcome.fault->wave);
      EXPECT_EQ(expected.outcome.fault->fault.lane, result.outcome.fault->fault.lane);
    }
  }
}

// Pictures that end in the middle of a group, and memory that does.
TEST(Rows, PassOnWhatABlockHasFoundInHalfWaves) {
  for (const auto& [width, height] : {std::array{160u, 48u}, {157u, 45u}, {144u, 33u}, {17u, 3u}}) {
    std::vector<float> in(size_t{width} * height);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 1000) * 0.25f;
    Bytes bytes(in.size() * 4);
    std::memcpy(bytes.data(), in.data(), bytes.size());
    const TestDispatch dispatch{
        "blur", {160, 48, 1}, {16, 16, 1}, {buffer(0), buffer(1), value(width), value(height)}};
    expect_same(code(), {dispatch}, {Bytes(bytes.size()), bytes});
  }
}

// What a guard has found of the index holds in the block that it guards, which needs the whole registers
// where the memory ends in the middle of a wave's items, and where the high half of an index of 64 bits
// changes there.
TEST(Rows, PassOnWhatABlockHasFound) {
  for (const uint32_t count : {64u * 40, 64u * 40 - 1, 64u * 40 - 33, 64u * 39 + 16, 64u * 21 + 5}) {
    std::vector<float> in(count);
    for (uint32_t i = 0; i < count; ++i) in[i] = static_cast<float>(i % 1000) * 0.25f;
    Bytes bytes(count * 4);
    std::memcpy(bytes.data(), in.data(), bytes.size());
    const std::vector<Bytes> buffers{Bytes(bytes.size()), bytes};
    const auto launch = [&](const char* kernel, std::vector<TestArgument> arguments) {
      std::vector<TestArgument> all{buffer(0), buffer(1)};
      all.insert(all.end(), arguments.begin(), arguments.end());
      return TestDispatch{kernel, {64 * 40, 1, 1}, {64, 1, 1}, all};
    };
    expect_same(code(), {launch("guarded", {value(count)})}, buffers);
    for (const uint64_t first : {uint64_t{0}, (uint64_t{1} << 32) - 64 * 12,
                                 (uint64_t{1} << 32) - 64 * 12 - 16, (uint64_t{1} << 32) - 64 * 12 - 7})
      expect_same(code(), {launch("guarded_far", {value(first), value(first + count)})}, buffers);
  }
}

// Bounds before, in and behind a row of items whose index is guarded, with signs and without.
TEST(Rows, GuardsOfAllOrders) {
  constexpr uint32_t kItems = 128 * 5;
  for (const std::string type : {"uint", "int"}) {
    std::string source;
    const char* const guards[] = {"i < bound", "i <= bound", "i > bound", "i >= bound",
                                  "bound < i", "bound <= i", "bound > i", "bound >= i"};
    for (unsigned i = 0; i < std::size(guards); ++i)
      source += "__kernel void guard_" + std::to_string(i) +
                "(__global uint* out, __global const uint* in, uint first, " + type + " bound) { " + type +
                " i = (" + type + ")(first + (uint)get_global_id(0)); if (" + guards[i] + ") (out - (long)(" +
                type + ")first)[i] = (in - (long)(" + type + ")first)[i] + 1; }\n";
    const Bytes in = random_words(kItems, 1);
    for (const unsigned wave_size : {32u, 64u}) {
      const Bytes kernels = compile(source, wave_size);
      for (const uint32_t first : {0u, 3u, 0x7ffff000u, 0x80000000u, 0xfffff000u})
        for (const uint32_t distance :
             {0u, 1u, 16u, 31u, 32u, 33u, 63u, 64u, 95u, 127u, 128u, 300u, kItems - 1, kItems, ~0u}) {
          SCOPED_TRACE(type + " " + std::to_string(first) + " " + std::to_string(distance));
          std::vector<TestDispatch> dispatches;
          for (unsigned i = 0; i < std::size(guards); ++i)
            for (const uint32_t group : {64u, 128u})
              dispatches.push_back({"guard_" + std::to_string(i),
                                    {kItems, 1, 1},
                                    {group, 1, 1},
                                    {buffer(i), buffer(8), value(first), value(first + distance)}});
          std::vector<Bytes> buffers(std::size(guards), Bytes(in.size()));
          buffers.push_back(in);
          const TestResult result = expect_same(kernels, dispatches, buffers);
          EXPECT_FALSE(result.outcome.fault);
        }
    }
  }
}

// Code for groups of one row takes no others.
TEST(Rows, AreOfOneRowOrNot) {
  const std::vector<uint32_t>& code = interpreter::assembled(R"(
    v_lshl_add_u32 v1, s2, 6, v0
    v_lshlrev_b32 v1, 2, v1
    global_store_b32 v1, v0, s[0:1]
    s_endpgm)",
                                                             32);
  const auto entry = reinterpret_cast<uint64_t>(code.data());
  const std::vector<CodeRange> ranges = {{entry, entry + 4 * code.size()}};
  for (const bool is_one_row : {false, true}) {
    interpreter::TestWave test({32, interpreter::best_host_target()});
    LaunchShape launch{.group_id_register = 2, .counting_lanes = 32};
    launch.is_one_row = true;
    Translator engine(ranges, 32, test.ranges(), entry, kMaxVgprs, {}, FirstTier::translator,
                      kDefaultFloatMode, launch);
    Wave& wave = test.wave();
    // Those of a second row of 32, if there are several.
    test.fill(0, [&](unsigned lane) { return lane + (is_one_row ? 32 : 1024); });
    test.set_s64(0, test.memory_address() - (is_one_row ? 0 : 4096 - 128));
    for (unsigned i = 0; i < 3 * 64; ++i) test.word(i) = 0;
    wave.pc = entry;
    wave.state = WaveState::ready;
    Wave* const waves[] = {nullptr, &wave};
    GroupRow row = row_of(waves, 1, 2);
    row.counting_lanes = 32;
    row.is_one_row = is_one_row;
    engine.run_row(row);
    EXPECT_EQ(row.x, 2u);
    EXPECT_EQ(row.executed, 2u * 4);
    EXPECT_EQ(wave.state, is_one_row ? WaveState::ready : WaveState::ended);
    for (unsigned i = 0; i < 2 * 64; ++i)
      EXPECT_EQ(test.word(i), i % 64 < 32 ? 0 : (is_one_row ? 0u : 1024u - 32) + i % 64) << i;
  }
}

// Numbers that are no ordinary ones, and NaNs, which send each wave to the interpreter.
TEST(Rows, ComputeWhatAllWavesHaveBefore) {
  constexpr uint32_t kItems = 64 * 24;
  std::vector<float> in(kItems);
  for (uint32_t i = 0; i < kItems; ++i) in[i] = static_cast<float>(i) * 0.75f - 100.0f;
  Bytes bytes(in.size() * 4);
  std::memcpy(bytes.data(), in.data(), bytes.size());
  const uint32_t numbers[] = {0x3fc00000, 0x3f800001, 0x80000000, 0x00000001, 0x007fffff, 0x7f800000,
                              0xff7fffff, 0x7fc00001, 0xffa00000, 0xc0490fdb, 0x3eaaaaab, 0x3c003c01};
  for (size_t i = 0; i < std::size(numbers); ++i)
    for (const auto [n, m] : {std::pair{7u, -3}, {1u, 1}, {0x80000001u, -0x7fffffff}, {64u, 1000}}) {
      SCOPED_TRACE(std::to_string(i) + " " + std::to_string(n));
      const TestDispatch dispatch{"arguments",
                                  {kItems, 1, 1},
                                  {64, 1, 1},
                                  {buffer(0), buffer(1), value(numbers[i]),
                                   value(numbers[(i * 5 + 3) % std::size(numbers)]), value(n), value(m)}};
      expect_same(code(), {dispatch}, {Bytes(bytes.size()), bytes});
    }
}

// It holds behind branches, too, but for waves that were not as expected on one of the ways: where an index
// ends at a bound, its high half changes, or the memory ends.
TEST(Rows, PassOnBehindBranchesWhatABlockHasFound) {
  constexpr uint32_t kItems = 64 * 24;
  std::vector<float> in(kItems);
  for (uint32_t i = 0; i < kItems; ++i) in[i] = static_cast<float>(i * 7919 % 97) * 0.0625f;
  Bytes bytes(kItems * 4);
  std::memcpy(bytes.data(), in.data(), bytes.size());
  for (const uint64_t first : {uint64_t{0}, (uint64_t{1} << 32) - 64 * 12, (uint64_t{1} << 32) - 64 * 12 - 7})
    for (const uint32_t last : {kItems - 1, kItems / 2 - 7, 0u})
      for (const uint32_t way : {0u, 1u}) {
        const TestDispatch dispatch{"branches",
                                    {kItems, 1, 1},
                                    {64, 1, 1},
                                    {buffer(0), buffer(1), value(first), value(last), value(way)}};
        const TestResult result = expect_same(code(), {dispatch}, {bytes, bytes});
        EXPECT_EQ(result.outcome.translation.interpreted, 0u) << first << ' ' << last << ' ' << way;
      }
  for (const uint32_t width : {160u, 48u, 16u}) {
    const TestDispatch dispatch{
        "least_neighbour", {width, 48, 1}, {16, 16, 1}, {buffer(0), buffer(1), value(width), value(48u)}};
    expect_same(code(), {dispatch}, {Bytes(size_t{width} * 48 * 4), random_words(size_t{width} * 48, width)});
  }
}

// Addresses go by the lowest lane that is still in the loop.
TEST(Rows, LoopsGoOnWithoutTheFirstLanes) {
  constexpr uint32_t kItems = 64 * 24;
  const Bytes wide = compile(kSource, 64);
  for (const uint32_t longest : {1u, 5u, 40u, 100u}) {
    std::vector<uint32_t> in(kItems);
    uint32_t random = longest;
    for (uint32_t i = 0, left = 0, run = 0; i < kItems; ++i) {
      if (left-- == 0) {
        random = random * 1664525 + 1013904223;
        left = (random >> 16) % longest;
        ++run;
      }
      in[i] = run;
    }
    Bytes bytes(in.size() * 4);
    std::memcpy(bytes.data(), in.data(), bytes.size());
    const TestDispatch dispatch{"runs", {kItems, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), value(kItems)}};
    for (const Bytes* const kernels : {&code(), &wide}) {
      const TestResult result = expect_same(*kernels, {dispatch}, {bytes, Bytes(bytes.size())});
      EXPECT_EQ(result.outcome.translation.interpreted, 0u) << longest;
    }
  }
}

// The runtime function's, on hosts without masked gathers.
TEST(Rows, LoopsGoOnWhereLanesAreElsewhere) {
  constexpr uint32_t kColumns = 32 * 5, kRows = 8 * 2;
  std::vector<float> in(kColumns * kRows);
  for (uint32_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 97) * 0.125f;
  Bytes bytes(in.size() * 4), gains(in.size());
  std::memcpy(bytes.data(), in.data(), bytes.size());
  for (size_t i = 0; i < gains.size(); ++i) gains[i] = static_cast<std::byte>(i % 11);
  const auto launch = [](uint32_t reach) {
    return TestDispatch{"smear",
                        {kColumns, kRows, 1},
                        {32, 8, 1},
                        {buffer(0), buffer(1), value(kColumns), value(reach), buffer(2)}};
  };
  for (const uint32_t reach : {0u, 1u, 6u, 40u}) {
    const TestResult result = expect_same(code(), {launch(reach)}, {Bytes(bytes.size()), bytes, gains});
    EXPECT_EQ(result.outcome.translation.interpreted, 0u) << reach;
  }
  // Memory ends before the right edge of a row.
  for (const size_t left : {bytes.size() - 64, size_t{4} * kColumns * 9 - 64, size_t{4} * kColumns - 64}) {
    Bytes shorter = bytes;
    shorter.resize(left);
    const std::vector<Bytes> buffers{Bytes(bytes.size()), shorter, gains};
    const TestResult expected = run(code(), {launch(6)}, buffers, machine::EngineKind::interpreter);
    const TestResult result = run(code(), {launch(6)}, buffers, machine::EngineKind::translator);
    ASSERT_TRUE(expected.outcome.fault) << left;
    ASSERT_TRUE(result.outcome.fault) << left;
    EXPECT_EQ(result.outcome.fault->group, expected.outcome.fault->group) << left;
    EXPECT_EQ(result.outcome.fault->instruction, expected.outcome.fault->instruction) << left;
    EXPECT_EQ(result.outcome.fault->fault.address - result.buffer_addresses[1],
              expected.outcome.fault->fault.address - expected.buffer_addresses[1])
        << left;
  }
}

// Where NaNs send waves to the interpreter, rows end within a wave, and memory before the last row.
TEST(Rows, RoundsBeginWithWhatWasFoundBeforeThem) {
  constexpr uint32_t kRows = 21;
  const Bytes wide = compile(kSource, 64);
  for (const uint32_t width : {32u, 64u, 160u, 129u, 200u, 7u}) {
    std::vector<float> in(size_t{width} * kRows);
    for (uint32_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i * 7919 % 97) * 0.0625f;
    Bytes bytes(in.size() * 4), with_nans = bytes;
    std::memcpy(bytes.data(), in.data(), bytes.size());
    in[in.size() / 2] = std::bit_cast<float>(0x7fa00001u);
    in[in.size() / 7] = std::bit_cast<float>(0xff812345u);
    std::memcpy(with_nans.data(), in.data(), bytes.size());
    for (const uint32_t rows : {kRows, 1u}) {
      SCOPED_TRACE(std::to_string(width) + " " + std::to_string(rows));
      const TestDispatch dispatch{
          "rows",
          {96, 24, 1},
          {32, 8, 1},
          {buffer(0), buffer(1), buffer(2), value(width), value(kRows), value(rows), value(kRows)}};
      for (const Bytes* const kernels : {&code(), &wide}) {
        const TestResult result = expect_same(*kernels, {dispatch}, {Bytes(bytes.size()), bytes, bytes});
        EXPECT_EQ(result.outcome.translation.interpreted, 0u);
        expect_same(*kernels, {dispatch}, {Bytes(bytes.size()), bytes, with_nans});
      }
      Bytes shorter = bytes;
      shorter.resize(size_t{width} * (kRows - 2) * 4 + 4);
      const std::vector<Bytes> buffers{Bytes(bytes.size()), bytes, shorter};
      const TestResult expected = run(code(), {dispatch}, buffers, machine::EngineKind::interpreter);
      const TestResult result = run(code(), {dispatch}, buffers, machine::EngineKind::translator);
      ASSERT_TRUE(expected.outcome.fault);
      ASSERT_TRUE(result.outcome.fault);
      EXPECT_EQ(result.outcome.fault->group, expected.outcome.fault->group);
      EXPECT_EQ(result.outcome.fault->instruction, expected.outcome.fault->instruction);
    }
  }
}

// The memory ends in the middle of the tenth row of items. That is found in a late group first; the group
// that counts is the first one of the second row of groups, which has no eleventh row.
TEST(Rows, ReportTheFaultOfTheFirstGroup) {
  const TestDispatch dispatch{
      "tickets", {kWidth, kHeight, 1}, {32, 8, 1}, {buffer(1), buffer(0), value(kWidth)}};
  const std::vector<Bytes> buffers{Bytes(4), Bytes((9 * kWidth + 5 * 32) * 4)};
  const TestResult expected = run(code(), {dispatch}, buffers, machine::EngineKind::interpreter);
  for (const unsigned threads : {1u, 4u}) {
    const TestResult result = run(code(), {dispatch}, buffers, machine::EngineKind::translator, threads);
    ASSERT_TRUE(expected.outcome.fault);
    ASSERT_TRUE(result.outcome.fault);
    const machine::WaveFault &a = *expected.outcome.fault, &b = *result.outcome.fault;
    EXPECT_EQ(a.fault.kind, b.fault.kind);
    EXPECT_EQ(a.fault.pc - expected.code_base, b.fault.pc - result.code_base);
    EXPECT_EQ(a.group, b.group);
    EXPECT_EQ(a.wave, b.wave);
    EXPECT_EQ(a.instruction, b.instruction);
    EXPECT_EQ(a.fault.address - expected.buffer_addresses.back(),
              b.fault.address - result.buffer_addresses.back());
  }
}

}  // namespace
}  // namespace lockstep::translator
