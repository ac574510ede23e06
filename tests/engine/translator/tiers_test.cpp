// Kernels that begin in the interpreter and go on in translated code.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "engine/translator/background.h"
#include "engine/translator/translation.h"
#include "engine/translator/translator.h"
#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::translator {
namespace {

using interpreter::assembled;
using interpreter::TestWave;

// Counts in every lane, without an end; s40 makes it another routine for each test.
std::string endless(unsigned number) {
  return "s_mov_b32 s40, " + std::to_string(number) +
         "\nloop:\nv_add_nc_u32 v1, v1, v0\nv_xor_b32 v2, v1, v2\ns_add_u32 s41, s41, 1\ns_branch loop";
}

struct Tiers {
  const std::vector<uint32_t>& code;
  const uint64_t entry = reinterpret_cast<uint64_t>(code.data());
  const std::vector<CodeRange> ranges = {{entry, entry + 4 * code.size()}};
  TestWave wave{{32, interpreter::best_host_target()}};
  Translator engine{ranges, 32, wave.ranges(), entry, kMaxVgprs, {}, FirstTier::interpreter};

  explicit Tiers(const std::string& listing) : code(assembled(listing, 32)) {
    wave.allocate_vgprs(kMaxVgprs);
    for (unsigned lane = 0; lane < 32; ++lane) wave.v(0, lane) = lane + 1;
    wave.fill(1, [](unsigned) { return 0; });
    wave.fill(2, [](unsigned) { return 0; });
    wave.s(41) = 0;
    wave.wave().state = WaveState::ready;
    engine.enter(wave.wave(), entry);
  }
  bool is_translated() const { return engine.statistics().code_bytes != 0; }
};

// In the middle of a loop that it never leaves, and nothing is lost.
TEST(TiersTest, AWaveChangesOverInItsLoop) {
  Tiers tiers(endless(1));
  int64_t executed = 0;
  while (!tiers.is_translated()) executed += tiers.engine.run(tiers.wave.wave(), 100'000);
  const uint64_t interpreted = tiers.engine.interpreted();
  EXPECT_LE(interpreted, static_cast<uint64_t>(executed));
  executed += tiers.engine.run(tiers.wave.wave(), 100'000);
  EXPECT_EQ(tiers.engine.interpreted(), interpreted);
  const auto rounds = static_cast<uint32_t>((executed - 1) / 4);
  EXPECT_EQ(tiers.wave.s(41), rounds);
  for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(tiers.wave.v(1, lane), rounds * (lane + 1));

  // As one engine alone does it.
  TestWave alone({32, interpreter::best_host_target()});
  alone.allocate_vgprs(kMaxVgprs);
  for (unsigned lane = 0; lane < 32; ++lane) alone.v(0, lane) = lane + 1;
  alone.fill(1, [](unsigned) { return 0; });
  alone.fill(2, [](unsigned) { return 0; });
  alone.wave().state = WaveState::ready;
  interpreter::Interpreter reference(tiers.ranges, 32, alone.ranges(), interpreter::best_host_target(),
                                     kMaxVgprs);
  reference.enter(alone.wave(), tiers.entry);
  while (executed > 0) executed -= reference.run(alone.wave(), executed);
  for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(tiers.wave.v(2, lane), alone.v(2, lane));
}

// Nothing is begun for them, so that there is nothing to wait for.
TEST(TiersTest, ShortRunsAreNotTranslated) {
  Tiers tiers(endless(2));
  for (unsigned i = 0; i < 9; ++i) tiers.engine.run(tiers.wave.wave(), 10'000);
  const Routine routine = find_routine(tiers.ranges, tiers.entry, 32, kMaxVgprs);
  EXPECT_FALSE(TranslationCache::of_process().has(routine));
  EXPECT_FALSE(tiers.is_translated());
  // One that there is already is taken soon; the loop is too short for one to be made.
  TranslationCache::of_process().get(routine);
  tiers.engine.run(tiers.wave.wave(), 20'000);
  while (!tiers.is_translated()) std::this_thread::yield();
  EXPECT_EQ(tiers.engine.statistics().origin, Origin::reused);
  const uint64_t interpreted = tiers.engine.interpreted();
  EXPECT_LT(interpreted, 200'000u);
  tiers.engine.run(tiers.wave.wave(), 10'000);
  EXPECT_EQ(tiers.engine.interpreted(), interpreted);
}

// An engine that goes away takes its translation along, and others' go on.
TEST(TiersTest, EnginesGoWhileTheyAreTranslated) {
  for (unsigned i = 0; i < 20; ++i) {
    Tiers tiers(endless(10 + i));
    tiers.engine.run(tiers.wave.wave(), 300'000);
  }
  Tiers last(endless(40));
  while (!last.is_translated()) last.engine.run(last.wave.wave(), 100'000);
}

// The statistics of a translation count once, whoever adds them up.
TEST(TiersTest, ATranslationIsToldOnce) {
  Tiers tiers(endless(3));
  EXPECT_FALSE(tiers.engine.was_told());
  EXPECT_FALSE(tiers.engine.was_told());
  while (!tiers.is_translated()) tiers.engine.run(tiers.wave.wave(), 100'000);
  EXPECT_FALSE(tiers.engine.was_told());
  EXPECT_TRUE(tiers.engine.was_told());
}

// What LLVM makes while it generates code for the first time is there until the last translation has ended.
TEST(TiersDeathTest, TheProcessEndsWhileItTranslates) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::string listing;
        for (unsigned i = 0; i < 100; ++i)
          listing += "v_fma_f64 v[4:5], v[4:5], v[6:7], v[4:5]\nv_min3_i16 v3, v0, v1, v2\n";
        static const Tiers tiers(listing + endless(50));
        static std::atomic<bool> has_translated = false;
        Background::of_process().start([](const IsCancelled& is_ending) {
          do {
            translate(find_routine(tiers.ranges, tiers.entry, 32, kMaxVgprs));
            has_translated = true;
          } while (!is_ending());
        });
        while (!has_translated) std::this_thread::yield();
        std::exit(3);
      },
      testing::ExitedWithCode(3), "");
}

// Waves of threads that nobody waits for may become hot while the process ends.
TEST(BackgroundTest, StartsNothingBehindItsEnd) {
  Background background;
  background.end();
  bool done = false;
  background.start([&](const IsCancelled&) { done = true; });
  background.end();
  EXPECT_FALSE(done);
}

TEST(BackgroundTest, EndsWithWhatRunsAndDropsTheRest) {
  std::atomic<unsigned> done = 0;
  {
    Background background;
    std::atomic<bool> began = false;
    for (unsigned i = 0; i < 100; ++i)
      background.start([&](const IsCancelled& is_ending) {
        began = true;
        while (!is_ending()) std::this_thread::yield();
        ++done;
      });
    while (!began) std::this_thread::yield();
  }
  EXPECT_GE(done, 1u);
  EXPECT_LE(done, std::thread::hardware_concurrency());
}

}  // namespace
}  // namespace lockstep::translator
