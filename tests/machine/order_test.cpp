// The order in which work-groups start and waves have their turns (RunOptions::precise.order): what a race
// comes to shows it, and what has none does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {
namespace {

using precise::Order;

constexpr EngineKind kEngines[] = {EngineKind::interpreter, EngineKind::translator};

struct Ordered : Dispatch {
  Ordered(std::string_view text, uint32_t groups, uint32_t items, EngineKind engine, Order order,
          uint64_t seed = 0)
      : Dispatch(text, groups, items) {
    options.threads = 1;
    options.engine = engine;
    options.precise.order = order;
    options.precise.order_seed = seed;
  }
  void run_well() {
    const Outcome outcome = run();
    ASSERT_FALSE(outcome.fault) << outcome.fault->fault.message;
    if (options.engine == EngineKind::translator && options.precise.order != Order::random) {
      EXPECT_NE(outcome.translation.instructions, 0u);
    }
  }
};

// Each wave draws a number and stores it in its own place, behind 64 bytes: that of its group and, with
// `waves` in each, its own.
std::string drawing(unsigned waves, const std::string& before = "") {
  return "v_readfirstlane_b32 s4, v0\ns_lshr_b32 s4, s4, 5\n" + before +
         "s_mov_b32 exec_lo, 1\nv_mov_b32 v1, 0\nv_mov_b32 v2, 1\n"
         "global_atomic_add_u32 v3, v1, v2, s[0:1] glc\n"
         "s_mul_i32 s5, s2, " +
         std::to_string(waves) +
         "\ns_add_i32 s5, s5, s4\ns_lshl_b32 s5, s5, 2\nv_mov_b32 v1, s5\n"
         "s_waitcnt vmcnt(0)\nglobal_store_b32 v1, v3, s[0:1] offset:64\n";
}

using Numbers = std::vector<uint32_t>;

Numbers drawn(const Dispatch& d, unsigned count) {
  return {d.buffer.begin() + 16, d.buffer.begin() + 16 + count};
}

Numbers counted(uint32_t count) {
  Numbers numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return numbers;
}

Numbers reversed(Numbers numbers) {
  std::ranges::reverse(numbers);
  return numbers;
}

Numbers sorted(Numbers numbers) {
  std::ranges::sort(numbers);
  return numbers;
}

// What waves draw on one thread.
Numbers run_drawing(unsigned groups, unsigned waves, EngineKind engine, Order order, uint64_t seed = 0) {
  Ordered d(drawing(waves), groups, waves * 32, engine, order, seed);
  d.run_well();
  return drawn(d, groups * waves);
}

TEST(Order, OfGroups) {
  constexpr unsigned kGroups = 300;
  for (const EngineKind engine : kEngines) {
    EXPECT_EQ(run_drawing(kGroups, 1, engine, Order::forward), counted(kGroups));
    EXPECT_EQ(run_drawing(kGroups, 1, engine, Order::backward), reversed(counted(kGroups)));
    const Numbers random = run_drawing(kGroups, 1, engine, Order::random, 3);
    EXPECT_EQ(sorted(random), counted(kGroups));
    EXPECT_NE(random, counted(kGroups));
    EXPECT_EQ(random, run_drawing(kGroups, 1, engine, Order::random, 3));
    EXPECT_NE(random, run_drawing(kGroups, 1, engine, Order::random, 4));
  }
}

TEST(Order, OfWaves) {
  for (const EngineKind engine : kEngines) {
    EXPECT_EQ(run_drawing(1, 32, engine, Order::forward), counted(32));
    EXPECT_EQ(run_drawing(1, 32, engine, Order::backward), reversed(counted(32)));
    const Numbers random = run_drawing(1, 32, engine, Order::random, 3);
    EXPECT_EQ(sorted(random), counted(32));
    EXPECT_NE(random, counted(32));
    EXPECT_EQ(random, run_drawing(1, 32, engine, Order::random, 3));
    EXPECT_NE(random, run_drawing(1, 32, engine, Order::random, 4));
    // Of groups and waves together.
    EXPECT_EQ(run_drawing(40, 4, engine, Order::backward), reversed(counted(160)));
    // Random order is another one in each group.
    const Numbers several = run_drawing(40, 8, engine, Order::random, 3);
    const auto ranks = [&](unsigned group) {
      const auto begin = several.begin() + group * 8;
      Numbers result;
      for (auto it = begin; it != begin + 8; ++it)
        result.push_back(
            static_cast<uint32_t>(std::count_if(begin, begin + 8, [&](uint32_t n) { return n < *it; })));
      return result;
    };
    EXPECT_NE(ranks(0), ranks(1));
  }
}

// Both engines are the precise one then.
TEST(Order, ASeedIsTheSameOnBothEngines) {
  EXPECT_EQ(run_drawing(40, 8, EngineKind::interpreter, Order::random, 9),
            run_drawing(40, 8, EngineKind::translator, Order::random, 9));
}

// Waves come to a barrier in some order and go on behind it in the same one.
TEST(Order, BehindBarriers) {
  for (const EngineKind engine : kEngines) {
    for (const Order order : {Order::forward, Order::backward}) {
      Ordered d(drawing(8, "s_barrier\ns_barrier\n"), 20, 8 * 32, engine, order);
      d.run_well();
      EXPECT_EQ(drawn(d, 160), order == Order::forward ? counted(160) : reversed(counted(160)));
    }
  }
}

// Guide 5.1: higher priorities first, whatever the order; it decides among equals.
TEST(Order, OfWavesWithPriorities) {
  const std::string even_first =
      "s_and_b32 s6, s4, 1\ns_cbranch_scc1 odd\ns_setprio 3\nodd:\ns_barrier\ns_barrier\n";
  for (const EngineKind engine : kEngines) {
    Ordered forward(drawing(8, even_first), 1, 8 * 32, engine, Order::forward);
    forward.run_well();
    EXPECT_EQ(drawn(forward, 8), (Numbers{0, 4, 1, 5, 2, 6, 3, 7}));
    Ordered backward(drawing(8, even_first), 1, 8 * 32, engine, Order::backward);
    backward.run_well();
    EXPECT_EQ(drawn(backward, 8), (Numbers{3, 7, 2, 6, 1, 5, 0, 4}));
    Ordered random(drawing(8, even_first), 1, 8 * 32, engine, Order::random, 1);
    random.run_well();
    EXPECT_EQ(sorted(drawn(random, 8)), counted(8));
  }
}

// A sum without atomics: turns of random length end between its load and its store.
TEST(Order, TurnsOfRandomLengthLoseUpdates) {
  constexpr char kSum[] = R"(
  s_mov_b32 exec_lo, 1
  v_mov_b32 v1, 0
  global_load_b32 v2, v1, s[0:1]
  s_waitcnt vmcnt(0)
  v_add_nc_u32 v2, v2, 1
  global_store_b32 v1, v2, s[0:1]
)";
  for (const EngineKind engine : kEngines) {
    const auto sum = [&](unsigned groups, unsigned waves, Order order, uint64_t seed = 0) {
      Ordered d(kSum, groups, waves * 32, engine, order, seed);
      d.run_well();
      return d.buffer[0];
    };
    EXPECT_EQ(sum(1, 16, Order::forward), 16u);
    EXPECT_EQ(sum(1, 16, Order::backward), 16u);
    EXPECT_LT(sum(1, 16, Order::random, 1), 16u);
    EXPECT_EQ(sum(64, 1, Order::forward), 64u);
    EXPECT_LT(sum(64, 1, Order::random, 1), 64u);
    EXPECT_EQ(sum(64, 1, Order::random, 1), sum(64, 1, Order::random, 1));
  }
}

// Through LDS and a barrier, and through atomics whose order does not matter.
TEST(Order, ChangesNothingOfAProgramWithoutRaces) {
  constexpr char kReduction[] = R"(
  v_lshlrev_b32 v1, 2, v0
  v_mul_u32_u24 v2, v0, 7
  v_add_nc_u32 v2, s2, v2
  ds_store_b32 v1, v2
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_movk_i32 s4, 0x80
again:
  v_cmp_gt_u32 vcc_lo, s4, v0
  s_and_saveexec_b32 s5, vcc_lo
  s_lshl_b32 s6, s4, 2
  v_add_nc_u32 v3, s6, v1
  ds_load_b32 v4, v3
  ds_load_b32 v5, v1
  s_waitcnt lgkmcnt(0)
  v_add_nc_u32 v5, v4, v5
  ds_store_b32 v1, v5
  s_mov_b32 exec_lo, s5
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_lshr_b32 s4, s4, 1
  s_cmp_lg_u32 s4, 0
  s_cbranch_scc1 again
  v_cmp_eq_u32 vcc_lo, 0, v0
  s_and_b32 exec_lo, exec_lo, vcc_lo
  s_cbranch_execz end
  ds_load_b32 v5, v1
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v6, 0
  global_atomic_add_u32 v6, v5, s[0:1]
  s_lshl_b32 s6, s2, 2
  v_mov_b32 v7, s6
  global_store_b32 v7, v5, s[0:1] offset:4
end:
)";
  const auto result = [&](EngineKind engine, Order order, uint64_t seed, unsigned threads) {
    Ordered d(kReduction, 50, 256, engine, order, seed);
    d.options.threads = threads;
    d.run_well();
    return d.buffer;
  };
  const auto expected = result(EngineKind::interpreter, Order::forward, 0, 1);
  EXPECT_EQ(expected[1], 7u * 255 * 256 / 2);
  for (const EngineKind engine : kEngines) {
    for (const unsigned threads : {1u, 3u}) {
      EXPECT_EQ(result(engine, Order::forward, 0, threads), expected);
      EXPECT_EQ(result(engine, Order::backward, 0, threads), expected);
      for (const uint64_t seed : {1u, 2u, 3u})
        EXPECT_EQ(result(engine, Order::random, seed, threads), expected);
    }
  }
}

// Each group waits for the one before it, and only four have room.
TEST(Order, GroupsMayWaitForEarlierOnes) {
  constexpr char kChain[] = R"(
  s_mov_b32 exec_lo, 1
  s_lshl_b32 s4, s2, 2
  v_mov_b32 v1, s4
  v_mov_b32 v3, s2
wait:
  global_load_b32 v2, v1, s[0:1] glc
  s_waitcnt vmcnt(0)
  v_cmp_ne_u32 vcc_lo, v2, v3
  s_cbranch_vccnz wait
  v_add_nc_u32 v3, v3, 1
  global_store_b32 v1, v3, s[0:1] offset:4
)";
  for (const EngineKind engine : kEngines) {
    for (const Order order : {Order::forward, Order::backward, Order::random}) {
      Ordered d(kChain, 60, 32, engine, order, 5);
      d.options.resident_groups = 4;
      d.run_well();
      for (uint32_t i = 0; i <= 60; ++i) EXPECT_EQ(d.buffer[i], i);
    }
  }
}

TEST(Order, NoGroupIsMovedFurtherThanThoseThatAreResident) {
  for (const EngineKind engine : kEngines) {
    Ordered d(drawing(1), 10, 32, engine, Order::backward);
    d.options.resident_groups = 4;
    d.run_well();
    EXPECT_EQ(drawn(d, 10), (Numbers{3, 2, 1, 0, 7, 6, 5, 4, 9, 8}));
    Ordered random(drawing(1), 100, 32, engine, Order::random, 2);
    random.options.resident_groups = 1;
    random.run_well();
    EXPECT_EQ(drawn(random, 100), counted(100));
  }
}

// Guide 13.4.3: the order of creation is that in which they were started.
TEST(Order, OrderedCountsFollowIt) {
  constexpr char kCount[] = R"(
  s_mov_b32 m0, 0
  v_mov_b32 v1, 1
  ds_ordered_count v2, v1 offset:0x300 gds
  s_waitcnt lgkmcnt(0)
  s_mov_b32 exec_lo, 1
  s_lshl_b32 s4, s2, 2
  v_mov_b32 v3, s4
  global_store_b32 v3, v2, s[0:1] offset:64
)";
  for (const EngineKind engine : kEngines) {
    Ordered d(kCount, 500, 32, engine, Order::backward);
    d.run_well();
    EXPECT_EQ(drawn(d, 500), reversed(counted(500)));
    Ordered random(kCount, 500, 32, engine, Order::random, 1);
    random.run_well();
    EXPECT_EQ(sorted(drawn(random, 500)), counted(500));
    EXPECT_NE(drawn(random, 500), counted(500)) << "whatever the length of turns";
    Ordered other(kCount, 500, 32, engine, Order::random, 2);
    other.run_well();
    EXPECT_NE(drawn(random, 500), drawn(other, 500));
  }
}

// Whatever the length of turns: each wave's first instruction draws its number.
TEST(Order, WavesBeginInAnotherOrderInEachGroup) {
  constexpr unsigned kWaves = 16;
  constexpr char kDraw[] = R"(
  ds_append v1
  v_readfirstlane_b32 s4, v0
  s_lshr_b32 s4, s4, 5
  s_lshl_b32 s5, s2, 4
  s_add_i32 s5, s5, s4
  s_lshl_b32 s5, s5, 2
  v_mov_b32 v2, s5
  s_waitcnt lgkmcnt(0)
  v_lshrrev_b32 v1, 5, v1
  s_mov_b32 exec_lo, 1
  global_store_b32 v2, v1, s[0:1] offset:64
)";
  for (const EngineKind engine : kEngines) {
    const auto ranks = [&](Order order, uint64_t seed) {
      Ordered d(kDraw, 2, kWaves * 32, engine, order, seed);
      d.run_well();
      const Numbers all = drawn(d, 2 * kWaves);
      return std::pair(Numbers(all.begin(), all.begin() + kWaves), Numbers(all.begin() + kWaves, all.end()));
    };
    EXPECT_EQ(ranks(Order::forward, 0), std::pair(counted(kWaves), counted(kWaves)));
    EXPECT_EQ(ranks(Order::backward, 0), std::pair(reversed(counted(kWaves)), reversed(counted(kWaves))));
    const auto [first, second] = ranks(Order::random, 1);
    EXPECT_EQ(sorted(first), counted(kWaves));
    EXPECT_NE(first, counted(kWaves));
    EXPECT_NE(first, second);
    EXPECT_NE(first, ranks(Order::random, 2).first);
  }
}

TEST(Order, TheFaultThatCountsIsTheFirstOfTheOrder) {
  for (const EngineKind engine : kEngines) {
    for (const unsigned threads : {1u, 3u}) {
      for (const Order order : {Order::forward, Order::backward}) {
        Ordered d(
            "s_cmp_lt_u32 s2, 5\ns_cbranch_scc1 end\ns_cmp_gt_u32 s2, 90\ns_cbranch_scc1 end\n"
            "v_mov_b32 v1, 0\nglobal_store_b32 v1, v0, s[8:9]\nend:\n",
            100, 64, engine, order);
        d.options.threads = threads;
        const Outcome outcome = d.run();
        ASSERT_TRUE(outcome.fault);
        EXPECT_EQ(outcome.fault->group[0], order == Order::forward ? 5u : 90u);
        EXPECT_EQ(outcome.fault->wave, order == Order::forward ? 0u : 1u);
      }
    }
  }
}

TEST(Order, LimitsStayExact) {
  for (const EngineKind engine : kEngines) {
    for (const Order order : {Order::forward, Order::backward, Order::random}) {
      for (const unsigned threads : {1u, 2u}) {
        const auto run = [&](uint64_t limit) {
          Ordered d("s_mul_i32 s4, s2, 3\nagain:\ns_sub_u32 s4, s4, 1\ns_cbranch_scc0 again\n", 100, 96,
                    engine, order, 6);
          d.options.threads = threads;
          d.options.instruction_limit = limit;
          return d.run();
        };
        const uint64_t needed = run(0).totals.instructions;
        EXPECT_FALSE(run(needed).limit_exceeded);
        EXPECT_TRUE(run(needed - 1).limit_exceeded);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::machine
