// Litmus tests of the memory model (guide 4.1.1 and 5.6; LLVM AMDGPU usage, memory model of gfx11): with the
// waits and cache operations that it asks for no forbidden result appears; without one of them it does, where
// the machine may show it: with results that land late or at random, or with caches that are not coherent.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {
namespace {

// The waves of a test meet before each few rounds, so that their accesses fall together; not before each one,
// since a meeting waits for the host's scheduler where its cores have other work. Every round has dwords of
// its own, one for each lane, all zero in the beginning: variables x and y, results a and b.
//   s[4:5] the meeting that each wave has come to, s[6:7] x, s[8:9] y, s[10:11] a, s[12:13] b; v1 offset of
//   the lane in this round; v2 one.
struct Litmus {
  std::vector<std::string> waves;  // the text of a round for each wave, a work-group of its own
  // Of a round and lane: x and y as they were left, results a and b of each wave that has some.
  std::function<bool(const uint32_t* a, const uint32_t* b)> is_forbidden;
};

constexpr unsigned kMostWaves = 4;
constexpr unsigned kRoundBytes = 128;
constexpr unsigned kRoundsOfMeeting = 10;

// How the waves are spread: each in a work-group of its own, or all in one, where they take turns on one host
// thread.
enum class Spread { groups, one_group };

std::string program(const Litmus& litmus, unsigned rounds, Spread spread) {
  const auto waves = static_cast<unsigned>(litmus.waves.size());
  const unsigned region = rounds * kRoundBytes;
  std::string text = "s_add_u32 s4, s0, 0\ns_addc_u32 s5, s1, 0\n";
  if (spread == Spread::one_group)
    text += "v_readfirstlane_b32 s2, v0\ns_lshr_b32 s2, s2, 5\nv_and_b32 v0, 31, v0\n";
  // The first 128 bytes are the rounds', then x, y, and an a and a b for each wave.
  auto base = [&](unsigned pair, unsigned index) {
    const std::string low = "s" + std::to_string(pair), high = "s" + std::to_string(pair + 1);
    text += "s_add_u32 " + low + ", s0, " + std::to_string(kRoundBytes + index * region) + "\ns_addc_u32 " +
            high + ", s1, 0\n";
  };
  base(6, 0), base(8, 1), base(10, 2), base(12, 2 + kMostWaves);
  // s2 is the number of the wave.
  text += "s_mul_i32 s20, s2, " + std::to_string(region) + R"(
s_add_u32 s10, s10, s20
s_addc_u32 s11, s11, 0
s_add_u32 s12, s12, s20
s_addc_u32 s13, s13, 0
s_lshl_b32 s23, s2, 2
v_mov_b32 v8, s23
v_lshlrev_b32 v1, 2, v0
v_mov_b32 v2, 1
v_min_u32 v3, )" +
          std::to_string(waves - 1) +
          R"(, v0
v_lshlrev_b32 v3, 2, v3
s_mov_b32 s21, 0
s_mov_b32 s22, 0
meet:
s_add_u32 s21, s21, 1
v_mov_b32 v4, s21
global_store_b32 v8, v4, s[4:5]
s_waitcnt_vscnt null, 0x0
meeting:
global_load_b32 v5, v3, s[4:5] glc
s_waitcnt vmcnt(0)
v_cmp_gt_u32 vcc_lo, s21, v5
s_cbranch_vccz met
)" + (spread == Spread::one_group ? "s_sleep 1\n" : "") +
          "s_branch meeting\nmet:\ns_mov_b32 s24, 0\nround:\n";
  for (unsigned i = 0; i < waves; ++i)
    text += "s_cmp_eq_u32 s2, " + std::to_string(i) + "\ns_cbranch_scc1 wave" + std::to_string(i) + "\n";
  for (unsigned i = 0; i < waves; ++i)
    text += "wave" + std::to_string(i) + ":\n" + litmus.waves[i] + "\ns_branch next\n";
  text += "next:\ns_waitcnt vmcnt(0)\ns_waitcnt_vscnt null, 0x0\nv_add_nc_u32 v1, " +
          std::to_string(kRoundBytes) + ", v1\ns_add_u32 s24, s24, 1\ns_cmp_lt_u32 s24, " +
          std::to_string(kRoundsOfMeeting) +
          "\ns_cbranch_scc1 round\ns_add_u32 s22, s22, 1\ns_cmp_lt_u32 s22, " +
          std::to_string(rounds / kRoundsOfMeeting) + "\ns_cbranch_scc1 meet\n";
  return text;
}

// How many runs (a lane of a round each) had the forbidden result.
uint64_t forbidden(const Litmus& litmus, unsigned rounds, const precise::Settings& settings = {},
                   EngineKind engine = EngineKind::interpreter, Spread spread = Spread::groups) {
  const auto waves = static_cast<unsigned>(litmus.waves.size());
  const size_t region = size_t{rounds} * 32;
  const bool together = spread == Spread::one_group;
  Dispatch d(program(litmus, rounds, spread), together ? 1 : waves, together ? 32 * waves : 32, 32,
             32 + region * (2 + 2 * kMostWaves));
  d.options.threads = 4;
  d.options.precise = settings;
  d.options.engine = engine;
  const Outcome outcome = d.run();
  if (outcome.fault) {
    ADD_FAILURE() << outcome.fault->fault.message << " at " << outcome.fault->instruction;
    return 0;
  }
  EXPECT_EQ(outcome.translation.instructions > 0, engine == EngineKind::translator) << outcome.note;
  const uint32_t* a = d.buffer.data() + 32 + 2 * region;
  const uint32_t* b = a + kMostWaves * region;
  uint64_t count = 0;
  for (size_t run = 0; run < region; ++run) {
    uint32_t as[kMostWaves], bs[kMostWaves];
    for (unsigned i = 0; i < kMostWaves; ++i) as[i] = a[i * region + run], bs[i] = b[i * region + run];
    count += litmus.is_forbidden(as, bs);
  }
  return count;
}

const std::string kStoreX = "global_store_b32 v1, v2, s[6:7]\n",
                  kStoreY = "global_store_b32 v1, v2, s[8:9]\n";
const std::string kLoadX = "global_load_b32 v7, v1, s[6:7]\n",
                  kLoadY = "global_load_b32 v6, v1, s[8:9] glc\n";
const std::string kLoadXPast = "global_load_b32 v7, v1, s[6:7] glc\n";  // past L0
const std::string kWaitStores = "s_waitcnt_vscnt null, 0x0\n", kWaitLoads = "s_waitcnt vmcnt(0)\n";
const std::string kInvalidate = "buffer_gl0_inv\nbuffer_gl1_inv\n";
// Time for one access to be done before another that nobody has waited for.
const std::string kPause = "s_nop 0\ns_nop 0\ns_nop 0\ns_nop 0\ns_nop 0\ns_nop 0\n";
const std::string kNothing;
const std::string kGiveY = "s_waitcnt vmcnt(0)\nglobal_store_b32 v1, v6, s[10:11]\n",
                  kGiveX = "s_waitcnt vmcnt(0)\nglobal_store_b32 v1, v7, s[12:13]\n";

// x is the message, y the flag. The reader has x in its caches from before.
Litmus message_passing(const std::string& release, const std::string& wait, const std::string& acquire) {
  return {{kStoreX + release + kStoreY, kLoadX + kWaitLoads + "v_mov_b32 v7, 0\n" + kLoadY + wait + acquire +
                                            kLoadX + kPause + kGiveY + kGiveX},
          [](const uint32_t* a, const uint32_t* b) { return a[1] == 1 && b[1] == 0; }};
}

// Each wave writes its variable, then looks at the other's.
Litmus store_buffering(const std::string& release) {
  return {{kStoreX + release + kInvalidate + kLoadY + kGiveY,
           kStoreY + release + kInvalidate + kLoadXPast + kGiveX},
          [](const uint32_t* a, const uint32_t* b) { return a[0] == 0 && b[1] == 0; }};
}

// Each wave looks at the other's variable, then writes its own.
Litmus load_buffering(const std::string& wait) {
  return {{kLoadY + wait + kStoreX + kPause + kGiveY, kLoadXPast + wait + kStoreY + kPause + kGiveX},
          [](const uint32_t* a, const uint32_t* b) { return a[0] == 1 && b[1] == 1; }};
}

// Two waves write, two look in opposite order: they must not see the writes in different orders.
Litmus independent_reads(const std::string& wait, const std::string& acquire) {
  return {
      {kStoreX, kStoreY, kLoadXPast + wait + acquire + kLoadY + kPause + kGiveY + kGiveX,
       kLoadY + wait + acquire + kLoadXPast + kPause + kGiveY + kGiveX},
      [](const uint32_t* a, const uint32_t* b) { return b[2] == 1 && a[2] == 0 && a[3] == 1 && b[3] == 0; }};
}

const struct {
  const char* name;
  Litmus litmus;
} kCorrect[] = {
    {"message passing", message_passing(kWaitStores, kWaitLoads, kInvalidate)},
    {"store buffering", store_buffering(kWaitStores)},
    {"load buffering", load_buffering(kWaitLoads)},
    {"independent reads of independent writes", independent_reads(kWaitLoads, kInvalidate)},
};

precise::Settings results(precise::Results when, uint64_t seed = 0) {
  precise::Settings settings;
  settings.results = when;
  settings.seed = seed;
  return settings;
}
precise::Settings incoherent() {
  precise::Settings settings;
  settings.caches = precise::Caches::incoherent;
  return settings;
}

TEST(Litmus, NothingForbiddenWithTheRightWaits) {
  // 100,000 rounds of 32 lanes each.
  for (const auto& [name, litmus] : kCorrect) EXPECT_EQ(forbidden(litmus, 100'000), 0u) << name;
}

TEST(Litmus, NothingForbiddenOnTheTranslator) {
  for (const auto& [name, litmus] : kCorrect)
    EXPECT_EQ(forbidden(litmus, 100'000, {}, EngineKind::translator), 0u) << name;
}

TEST(Litmus, NothingForbiddenHoweverLateResultsLand) {
  for (const auto& [name, litmus] : kCorrect) {
    EXPECT_EQ(forbidden(litmus, 2000, results(precise::Results::late)), 0u) << name;
    for (uint64_t seed = 1; seed <= 3; ++seed)
      EXPECT_EQ(forbidden(litmus, 2000, results(precise::Results::random, seed)), 0u) << name;
  }
}

TEST(Litmus, NothingForbiddenWithIncoherentCaches) {
  for (const auto& [name, litmus] : kCorrect) EXPECT_EQ(forbidden(litmus, 2000, incoherent()), 0u) << name;
}

// Runs until it appears. On a busy machine the host's threads take turns that are longer than a run.
uint64_t appearances(const Litmus& litmus, unsigned rounds) {
  constexpr unsigned kMostRuns = 200;
  uint64_t count = 0;
  for (unsigned run = 0; run < kMostRuns && count == 0; ++run) count = forbidden(litmus, rounds);
  return count;
}

// A result that is allowed, but must be possible for the tests above to mean anything: the waves do run side
// by side.
TEST(Litmus, WavesDoMeet) {
  Litmus sees_new = message_passing(kWaitStores, kWaitLoads, kInvalidate), sees_old = sees_new;
  sees_new.is_forbidden = [](const uint32_t* a, const uint32_t* b) { return a[1] == 1 && b[1] == 1; };
  sees_old.is_forbidden = [](const uint32_t* a, const uint32_t* b) { return a[1] == 0 && b[1] == 0; };
  EXPECT_GT(appearances(sees_new, 20'000), 0u);
  EXPECT_GT(appearances(sees_old, 20'000), 0u);
}

uint64_t with_late_or_random(const Litmus& litmus) {
  uint64_t count = 0;
  for (const Spread spread : {Spread::one_group, Spread::groups}) {
    const auto add = [&](const precise::Settings& settings) {
      if (count == 0) count = forbidden(litmus, 2000, settings, EngineKind::interpreter, spread);
    };
    add(results(precise::Results::late));
    for (uint64_t seed = 1; seed <= 20; ++seed) add(results(precise::Results::random, seed));
  }
  return count;
}

TEST(Litmus, MessagePassingWithoutTheWaitForTheStore) {
  EXPECT_GT(with_late_or_random(message_passing(kNothing, kWaitLoads, kInvalidate)), 0u);
}
TEST(Litmus, MessagePassingWithoutTheWaitForTheFlag) {
  EXPECT_GT(with_late_or_random(message_passing(kWaitStores, kNothing, kNothing)), 0u);
}
// The writer waits until the reader has x in its caches, and the reader until it has seen the flag: which of
// them the host runs when makes no difference.
TEST(Litmus, MessagePassingWithoutTheInvalidate) {
  const auto until_y_is = [](const std::string& value) {
    const std::string label = "until_y_is_" + value;
    return label + ":\n" + kLoadY + kWaitLoads + "v_cmp_ne_u32 vcc_lo, " + value + ", v6\ns_cbranch_vccnz " +
           label + "\n";
  };
  const auto in_turns = [&](const std::string& acquire) {
    Litmus litmus = message_passing(kWaitStores, kWaitLoads, acquire);
    litmus.waves = {until_y_is("2") + kStoreX + kWaitStores + kStoreY,
                    kLoadX + kWaitLoads + "v_mov_b32 v4, 2\nglobal_store_b32 v1, v4, s[8:9]\n" +
                        until_y_is("1") + acquire + kLoadX + kGiveY + kGiveX};
    return litmus;
  };
  constexpr unsigned kRounds = 50;
  EXPECT_EQ(forbidden(in_turns(kNothing), kRounds, incoherent()), uint64_t{kRounds} * 32);
  EXPECT_EQ(forbidden(in_turns(kInvalidate), kRounds, incoherent()), 0u);
}
TEST(Litmus, StoreBufferingWithoutTheWait) {
  EXPECT_GT(with_late_or_random(store_buffering(kNothing)), 0u);
}
TEST(Litmus, LoadBufferingWithoutTheWait) {
  EXPECT_GT(with_late_or_random(load_buffering(kNothing)), 0u);
}
TEST(Litmus, IndependentReadsWithoutTheWait) {
  EXPECT_GT(with_late_or_random(independent_reads(kNothing, kNothing)), 0u);
}

}  // namespace
}  // namespace lockstep::machine
