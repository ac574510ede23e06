// Kernels that begin in the interpreter and go on in translated code.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "engine/translator/background.h"
#include "engine/translator/hot_loops.h"
#include "engine/translator/translation.h"
#include "engine/translator/translator.h"
#include "tests/engine/interpreter/test_wave.h"
#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

// What an earlier run has left on disk would be loaded at once. Before anybody opens the cache.
class CacheOfItsOwn : public testing::Environment {
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / "lockstep-tiers-XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};
const testing::Environment* const kCacheOfItsOwn =
    testing::AddGlobalTestEnvironment(new CacheOfItsOwn);  // NOLINT: GoogleTest owns it

using interpreter::assembled;
using interpreter::TestWave;

// Counts in every lane, without an end; s40 makes it another routine for each test.
std::string endless(unsigned number) {
  return "s_mov_b32 s40, " + std::to_string(number) +
         "\nloop:\nv_add_nc_u32 v1, v1, v0\nv_xor_b32 v2, v1, v2\ns_add_u32 s41, s41, 1\ns_branch loop";
}

// Runs once, and makes a routine long.
std::string filler(unsigned count = 400) {
  std::string listing;
  for (unsigned i = 0; i < count; ++i) listing += "v_add_nc_u32 v3, " + std::to_string(i % 60) + ", v3\n";
  return listing;
}

struct Tiers {
  const std::vector<uint32_t>& code;
  const uint64_t entry = reinterpret_cast<uint64_t>(code.data());
  const std::vector<CodeRange> ranges = {{entry, entry + 4 * code.size()}};
  TestWave wave{{32, interpreter::best_host_target()}};
  Translator engine{ranges, 32, wave.ranges(), entry, kMaxVgprs, {}, FirstTier::interpreter};

  explicit Tiers(const std::string& listing) : code(assembled(listing, 32)) {
    prepare(wave);
    engine.enter(wave.wave(), entry);
  }
  static void prepare(TestWave& wave) {
    wave.allocate_vgprs(kMaxVgprs);
    for (unsigned lane = 0; lane < 32; ++lane) wave.v(0, lane) = lane + 1;
    for (unsigned v = 1; v < 4; ++v) wave.fill(v, [](unsigned) { return 0; });
    for (unsigned s = 41; s < 44; ++s) wave.s(s) = 0;
    wave.wave().state = WaveState::ready;
  }
  static std::vector<uint32_t> registers(TestWave& wave) {
    std::vector<uint32_t> all;
    for (unsigned s = 40; s < 44; ++s) all.push_back(wave.s(s));
    for (unsigned v = 1; v < 4; ++v)
      for (unsigned lane = 0; lane < 32; ++lane) all.push_back(wave.v(v, lane));
    return all;
  }
  // As one engine alone leaves them after so many instructions.
  std::vector<uint32_t> interpreted_alone(int64_t instructions) const {
    TestWave alone({32, interpreter::best_host_target()});
    prepare(alone);
    interpreter::Interpreter reference(ranges, 32, alone.ranges(), interpreter::best_host_target(),
                                       kMaxVgprs);
    reference.enter(alone.wave(), entry);
    while (instructions > 0) instructions -= reference.run(alone.wave(), instructions);
    EXPECT_EQ(instructions, 0);
    return registers(alone);
  }
  bool is_translated() const { return engine.statistics().code_bytes != 0; }
};

// A loop that is made of jumps alone ends its turns, too.
TEST(TiersTest, ALoopOfJumpsEndsItsTurns) {
  Tiers tiers(
      "s_mov_b32 s40, 90\ns_getpc_b64 s[60:61]\nagain:\nv_add_nc_u32 v1, v1, v0\ns_add_u32 s41, s41, 1\n"
      "s_add_u32 s62, s60, 0\ns_addc_u32 s63, s61, 0\ns_setpc_b64 s[60:61]");
  int64_t executed = 0;
  while (!tiers.is_translated()) executed += tiers.engine.run(tiers.wave.wave(), 100'000);
  const uint64_t interpreted = tiers.engine.interpreted();
  for (unsigned turn = 0; turn < 3; ++turn) {
    const int64_t now = tiers.engine.run(tiers.wave.wave(), 20'000);
    EXPECT_GE(now, 20'000);
    EXPECT_LT(now, 20'100);
    executed += now;
  }
  EXPECT_LE(tiers.engine.interpreted(), interpreted + 10);
  EXPECT_EQ(Tiers::registers(tiers.wave), tiers.interpreted_alone(executed));
}

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

  EXPECT_EQ(Tiers::registers(tiers.wave), tiers.interpreted_alone(executed));
}

// Of a kernel that takes long to translate, and before that.
TEST(TiersTest, ALongKernelsLoopIsTranslatedFirst) {
  Tiers tiers(filler() + endless(60));
  int64_t executed = 0;
  while (executed < 500'000) executed += tiers.engine.run(tiers.wave.wave(), 50'000);
  while (!tiers.is_translated()) std::this_thread::yield();
  EXPECT_EQ(tiers.engine.statistics().instructions, 4u);
  EXPECT_FALSE(tiers.engine.was_told());
  EXPECT_TRUE(tiers.engine.was_told());
  const uint64_t interpreted = tiers.engine.interpreted();
  for (unsigned i = 0; i < 10; ++i) executed += tiers.engine.run(tiers.wave.wave(), 50'000);
  EXPECT_EQ(tiers.engine.interpreted(), interpreted);
  EXPECT_EQ(Tiers::registers(tiers.wave), tiers.interpreted_alone(executed));
}

// Its instructions are decoded as others are executed, which changes nothing but when its loop is known.
TEST(TiersTest, AVeryLongKernelIsDecodedInSteps) {
  constexpr unsigned kInstructions = 3'000;
  Tiers tiers(filler(kInstructions) + endless(60));
  int64_t executed = 0;
  while (executed < 1'500'000) executed += tiers.engine.run(tiers.wave.wave(), 50'000);
  EXPECT_FALSE(tiers.is_translated());
  for (unsigned i = 0; !tiers.is_translated(); ++i) {
    ASSERT_LT(i, 100'000u);
    executed += tiers.engine.run(tiers.wave.wave(), 50'000);
  }
  EXPECT_GT(executed, 2'400'000);
  EXPECT_EQ(tiers.engine.statistics().instructions, 4u);
  executed += tiers.engine.run(tiers.wave.wave(), 50'000);
  EXPECT_EQ(Tiers::registers(tiers.wave), tiers.interpreted_alone(executed));
}

// What is around them is too long to be one, and the interpreter's until it makes the kernel hot.
TEST(TiersTest, LoopsOfALongKernelAndWhatIsAroundThem) {
  const auto inner = [](const std::string& name, const std::string& what) {
    return "s_movk_i32 s42, 64\n" + name + ":\n" + what +
           "s_sub_u32 s42, s42, 1\ns_cmp_lg_u32 s42, 0\ns_cbranch_scc1 " + name + "\n";
  };
  Tiers tiers("s_mov_b32 s40, 61\n" + filler() + "around:\n" + inner("first", "v_add_nc_u32 v1, v1, v0\n") +
              filler(240) + inner("second", "v_xor_b32 v2, v1, v2\nv_add_nc_u32 v2, v2, v0\n") +
              "s_add_u32 s41, s41, 1\ns_branch around");
  int64_t executed = 0;
  const auto instructions = [&] { return tiers.engine.statistics().instructions; };
  const auto run_until = [&](size_t translated) {
    for (unsigned i = 0; instructions() < translated; ++i) {
      ASSERT_LT(i, 1'000u) << instructions();
      executed += tiers.engine.run(tiers.wave.wave(), 1'000'000);
    }
  };
  run_until(4 + 5);
  EXPECT_EQ(instructions(), 4u + 5u);
  EXPECT_EQ(Tiers::registers(tiers.wave), tiers.interpreted_alone(executed));
  run_until(640);
  executed += tiers.engine.run(tiers.wave.wave(), 1'000'000);
  EXPECT_EQ(Tiers::registers(tiers.wave), tiers.interpreted_alone(executed));
}

TEST(HotLoopsTest, TellTheLongestThatIsHotOnce) {
  const std::string inner = "inner:\ns_add_u32 s41, s41, 1\ns_cmp_lg_u32 s41, 0\ns_cbranch_scc1 inner\n";
  const Routine routine = routine_of(filler(kShortRoutine) + "outer:\n" + filler(2) + inner + filler(2) +
                                     "s_cbranch_scc1 outer\n" + filler(2) + "s_endpgm");
  const auto offset = [&](size_t node) { return routine.nodes[kShortRoutine + node].offset; };
  HotLoops loops(routine, 10);
  EXPECT_EQ(loops.add(offset(2), 29), nullptr);
  const Loop* loop = loops.add(offset(4), 1);
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->begin, offset(2));
  EXPECT_EQ(loop->end, offset(5));
  EXPECT_EQ(loop->nodes, 3u);
  EXPECT_EQ(loops.add(offset(3), 49), nullptr);
  EXPECT_EQ(loops.add(0, 1000), nullptr);
  EXPECT_EQ(loops.add(offset(8), 1000), nullptr);
  loop = loops.add(offset(7), 1);
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->begin, offset(0));
  EXPECT_EQ(loop->end, offset(8));
  EXPECT_EQ(loops.add(offset(3), 1000), nullptr);

  HotLoops both(routine, 10);
  loop = both.add(offset(2), 1000);
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->begin, offset(0));
  EXPECT_EQ(both.add(offset(2), 1000), nullptr);
}

TEST(HotLoopsTest, AreNoneWhereTheWholeIsTranslatedAsSoon) {
  EXPECT_TRUE(HotLoops(routine_of(filler(kShortRoutine - 6) + endless(0)), 10).empty());
  EXPECT_FALSE(HotLoops(routine_of(filler(kShortRoutine) + endless(0)), 10).empty());
  EXPECT_TRUE(
      HotLoops(routine_of(filler(kShortRoutine) + "long:\n" + filler(kMostLoopNodes) + "s_branch long"), 10)
          .empty());
  EXPECT_TRUE(HotLoops().empty());
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

// A job that does not end is halted: what it has counted stays.
TEST(BackgroundTest, EndsWithoutWhatNeverEnds) {
  static std::atomic<uint64_t> rounds = 0;
  testing::internal::CaptureStderr();
  Background background(std::chrono::seconds(1));
  background.start([](const IsCancelled&) {
    for (;;) ++rounds;
  });
  while (rounds == 0) std::this_thread::yield();
  background.end();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("has not ended for 1 s"), std::string::npos);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const uint64_t halted = rounds;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(rounds, halted);
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
