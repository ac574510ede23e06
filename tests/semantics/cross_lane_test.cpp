// The whole-wave bodies against one loop a lane, written from the guide's text, for wave32 and wave64.
#include "semantics/cross_lane.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <vector>

namespace lockstep::semantics {
namespace {

struct Register {
  U32 chunk[4];
  uint32_t& operator[](unsigned lane) { return reinterpret_cast<uint32_t*>(chunk)[lane]; }
};

std::mt19937_64& random() {
  static std::mt19937_64 engine(11);
  return engine;
}

Register random_register() {
  Register r;
  for (unsigned lane = 0; lane < 64; ++lane) r[lane] = static_cast<uint32_t>(random()()) | 1;
  return r;
}

// Masks that matter: none, one lane, all, holes, random.
std::vector<uint64_t> masks() {
  std::vector<uint64_t> list = {
      0, 1, ~uint64_t{0}, 0x8000000000000000, 0xffffffff, 0xffff0000ffff, 0x7fff7fff7fff7fff};
  for (int i = 0; i < 20; ++i) list.push_back(random()());
  for (int i = 0; i < 5; ++i) list.push_back(random()() & random()() & random()());
  return list;
}

template <class Check>
void for_each_wave(Check check) {
  for (unsigned chunks : {2u, 4u})
    for (uint64_t exec : masks()) check(WaveView{chunks, exec});
}

bool is_active(WaveView wave, unsigned lane) {
  return wave.exec >> lane & 1;
}

// Compares a body's result with what the oracle says of each lane: the value written, or nothing.
template <class Oracle>
void expect_lanes(WaveView wave, uint64_t written, Register& result, Oracle oracle) {
  for (unsigned lane = 0; lane < 64; ++lane) {
    const std::optional<uint32_t> wanted =
        lane < wave.lanes() && is_active(wave, lane) ? oracle(lane) : std::nullopt;
    ASSERT_EQ(written >> lane & 1, wanted.has_value())
        << "lane " << lane << " exec " << std::hex << wave.exec << " chunks " << wave.chunks;
    if (wanted) ASSERT_EQ(result[lane], *wanted) << "lane " << lane << " exec " << std::hex << wave.exec;
  }
}

// Where a DPP16 control takes lane `i` of a row from, by the names of guide table 93; nothing if outside the
// row.
std::optional<unsigned> dpp16_source(unsigned control, unsigned i) {
  const unsigned n = control & 15;
  if (control < 0x100) return i / 4 * 4 + (control >> 2 * (i % 4)) % 4;
  switch (control >> 4) {
    case 0x10:
      return i + n < 16 ? std::optional(i + n) : std::nullopt;
    case 0x11:
      return i >= n ? std::optional(i - n) : std::nullopt;
    case 0x12:
      return (i + 16 - n) % 16;
    case 0x14:
      return n == 0 ? 15 - i : i < 8 ? 7 - i : 23 - i;
    case 0x15:
      return n;
    default:
      return i ^ n;
  }
}

bool is_dpp16_control(unsigned control) {
  const unsigned group = control >> 4, n = control & 15;
  if (group < 0x10) return true;
  if (group >= 0x10 && group <= 0x12) return n != 0;
  if (group == 0x14) return n <= 1;
  return group == 0x15 || group == 0x16;
}

TEST(CrossLane, Dpp16) {
  for (unsigned control = 0; control < 0x200; ++control) {
    ASSERT_EQ(dpp16_row_shuffle(control).known, is_dpp16_control(control)) << std::hex << control;
    if (!is_dpp16_control(control)) continue;
    for (unsigned flags = 0; flags < 4; ++flags) {
      const bool bound_control = flags & 1, fetch_inactive = flags & 2;
      for_each_wave([&](WaveView wave) {
        const unsigned row_mask = random()() & 1 ? 15 : random()() % 16;
        const unsigned bank_mask = random()() & 1 ? 15 : random()() % 16;
        Register source = random_register(), result;
        const auto dpp = make_dpp16(control, row_mask, bank_mask, bound_control, fetch_inactive);
        const uint64_t written = dpp_select(dpp, wave, source.chunk, result.chunk);
        expect_lanes(wave, written, result, [&](unsigned lane) -> std::optional<uint32_t> {
          const unsigned row = lane / 16, bank = lane % 16 / 4;
          if (!(row_mask >> row & 1) || !(bank_mask >> bank & 1)) return std::nullopt;
          const auto from = dpp16_source(control, lane % 16);
          const bool usable = from && (fetch_inactive || is_active(wave, row * 16 + *from));
          if (usable) return source[row * 16 + *from];
          return bound_control ? std::optional<uint32_t>(0) : std::nullopt;
        });
      });
    }
  }
}

TEST(CrossLane, Dpp8) {
  for (int round = 0; round < 50; ++round) {
    const uint32_t selectors = random()() & 0xffffff;
    for (bool fetch_inactive : {false, true})
      for_each_wave([&](WaveView wave) {
        Register source = random_register(), result;
        const uint64_t written =
            dpp_select(make_dpp8(selectors, fetch_inactive), wave, source.chunk, result.chunk);
        expect_lanes(wave, written, result, [&](unsigned lane) -> std::optional<uint32_t> {
          const unsigned from = lane / 8 * 8 + (selectors >> 3 * (lane % 8)) % 8;
          return fetch_inactive || is_active(wave, from) ? source[from] : 0;
        });
      });
  }
}

TEST(CrossLane, ReadAndWriteLane) {
  for_each_wave([](WaveView wave) {
    Register source = random_register();
    for (uint32_t lane : {0u, 1u, 15u, 16u, 31u, 32u, 47u, 63u, 64u, 0xffffffffu, 0x12345625u}) {
      EXPECT_EQ(v_readlane_b32::eval(wave, source.chunk, lane), source[lane % wave.lanes()]);
      Register changed = source;
      v_writelane_b32::eval(wave, 0xabcd, lane, changed.chunk);
      for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(changed[i], i == lane % wave.lanes() ? 0xabcd : source[i]);
    }
    unsigned first = 0;
    while (first < wave.lanes() && !is_active(wave, first)) ++first;
    if (first == wave.lanes()) first = 0;
    EXPECT_EQ(v_readfirstlane_b32::eval(wave, source.chunk), source[first]);
  });
}

TEST(CrossLane, Permlane) {
  for (unsigned flags = 0; flags < 4; ++flags) {
    const bool fetch_inactive = flags & 1, bound_control = flags & 2;
    for_each_wave([&](WaveView wave) {
      const uint64_t selectors = random()();
      const uint32_t low = static_cast<uint32_t>(selectors), high = static_cast<uint32_t>(selectors >> 32);
      Register source = random_register(), result;
      for (unsigned flip : {0u, 16u}) {
        const uint64_t written = flip ? v_permlanex16_b32::eval(wave, fetch_inactive, bound_control,
                                                                source.chunk, low, high, result.chunk)
                                      : v_permlane16_b32::eval(wave, fetch_inactive, bound_control,
                                                               source.chunk, low, high, result.chunk);
        expect_lanes(wave, written, result, [&](unsigned lane) -> std::optional<uint32_t> {
          const unsigned from = ((lane / 16 * 16) ^ flip) + (selectors >> 4 * (lane % 16)) % 16;
          if (fetch_inactive || is_active(wave, from)) return source[from];
          return bound_control ? std::optional<uint32_t>(0) : std::nullopt;
        });
      }
    });
  }
}

TEST(CrossLane, Permlane64SwapsHalvesAndIsNothingInWave32) {
  for_each_wave([](WaveView wave) {
    Register source = random_register(), result;
    const uint64_t written = v_permlane64_b32::eval(wave, source.chunk, result.chunk);
    expect_lanes(wave, written, result, [&](unsigned lane) -> std::optional<uint32_t> {
      if (wave.lanes() == 32) return std::nullopt;
      return source[(lane + 32) % 64];
    });
  });
}

TEST(CrossLane, LdsPermutes) {
  for (uint32_t offset : {0u, 4u, 60u, 0xfffcu, 3u})
    for_each_wave([&](WaveView wave) {
      Register address = random_register(), data = random_register(), result;
      uint64_t written = ds_bpermute_b32::eval(wave, address.chunk, data.chunk, offset, result.chunk);
      expect_lanes(wave, written, result, [&](unsigned lane) -> std::optional<uint32_t> {
        const unsigned from = lane / 32 * 32 + (address[lane] + offset) / 4 % 32;
        return is_active(wave, from) ? data[from] : 0;
      });
      written = ds_permute_b32::eval(wave, address.chunk, data.chunk, offset, result.chunk);
      expect_lanes(wave, written, result, [&](unsigned lane) -> std::optional<uint32_t> {
        uint32_t value = 0;
        for (unsigned from = lane / 32 * 32; from < lane / 32 * 32 + 32; ++from)
          if (is_active(wave, from) && (address[from] + offset) / 4 % 32 == lane % 32) value = data[from];
        return value;
      });
    });
}

TEST(CrossLane, SwizzleMatchesTheGuidesExamples) {
  const auto row = [](unsigned offset) {
    std::vector<unsigned> list;
    for (unsigned lane = 0; lane < 32; ++lane) list.push_back(swizzle_source(offset, lane));
    return list;
  };
  const std::vector<unsigned> fft_0 = row(0xe000), fft_16 = row(0xe010), fft_31 = row(0xe01f);
  EXPECT_EQ(std::vector<unsigned>(fft_0.begin(), fft_0.begin() + 8),
            (std::vector<unsigned>{0, 16, 8, 24, 4, 20, 12, 28}));
  EXPECT_EQ(std::vector<unsigned>(fft_16.begin(), fft_16.begin() + 4), (std::vector<unsigned>{0, 8, 4, 12}));
  EXPECT_EQ(fft_16[16], 16u);
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(fft_31[lane], lane);
    EXPECT_EQ(row(0xc020)[lane], (lane + 1) % 32);              // left by one
    EXPECT_EQ(row(0xc420)[lane], (lane + 31) % 32);             // right by one
    EXPECT_EQ(row(0x041f)[lane], lane ^ 1);                     // SWAPX1
    EXPECT_EQ(row(0x7c1f)[lane], 31 - lane);                    // REVERSEX32
    EXPECT_EQ(row(0x00f0)[lane], (lane & 16) | 7);              // BCASTX16 of thread 7
    EXPECT_EQ(row(0x801b)[lane], lane / 4 * 4 + 3 - lane % 4);  // reversed quads
  }
}

TEST(CrossLane, Swizzle) {
  for (unsigned offset : {0x041fu, 0x7c1fu, 0x801bu, 0x80e4u, 0xc3e0u, 0xc7e0u, 0xe00au, 0xffffu})
    for_each_wave([&](WaveView wave) {
      Register data = random_register(), result;
      const uint64_t written = ds_swizzle_b32::eval(wave, data.chunk, offset, result.chunk);
      expect_lanes(wave, written, result, [&](unsigned lane) -> std::optional<uint32_t> {
        const unsigned from = lane / 32 * 32 + swizzle_source(offset, lane % 32);
        return is_active(wave, from) ? data[from] : 0;
      });
    });
}

TEST(CrossLane, Swap) {
  const U32 a = lane_numbers(), b = a + 100;
  const Swapped<U32> swapped = v_swap_b32::eval(a, b);
  for (unsigned lane = 0; lane < 16; ++lane) {
    EXPECT_EQ(swapped.destination[lane], lane + 100);
    EXPECT_EQ(swapped.source[lane], lane);
  }
}

}  // namespace
}  // namespace lockstep::semantics
