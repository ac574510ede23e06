// What the process keeps of translations, and what it leaves for others.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/translator/stored_objects.h"
#include "engine/translator/translation_cache.h"
#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::translator {
namespace {

namespace fs = std::filesystem;

Routine routine_of(const std::string& listing) {
  const std::vector<uint32_t>& code = interpreter::assembled(listing, 32);
  const auto entry = reinterpret_cast<uint64_t>(code.data());
  const std::vector<CodeRange> ranges = {{entry, entry + 4 * code.size()}};
  return find_routine(ranges, entry, 32, kMaxVgprs);
}

Routine numbered(unsigned number) {
  return routine_of("s_mov_b32 s0, " + std::to_string(1000 + number));
}

Routine of_several_pieces() {
  std::string listing;
  for (unsigned i = 0; i < 4 * kMaxPieceSize; ++i) listing += "s_add_u32 s0, s0, " + std::to_string(i) + "\n";
  return routine_of(listing);
}

// In a process of its own, which has not opened its cache yet.
TEST(TranslationCacheDeathTest, ABadLimitIsAnError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("LOCKSTEP_CACHE_MEGABYTES", "12x", 1);
        try {
          TranslationCache::of_process();
        } catch (const std::invalid_argument& error) {
          std::fputs(error.what(), stderr);
          std::_Exit(3);
        }
        std::_Exit(0);
      },
      testing::ExitedWithCode(3), "LOCKSTEP_CACHE_MEGABYTES.*'12x'");
}

TEST(TranslationCache, ForgetsWhatWasUsedLongestAgo) {
  constexpr unsigned kMost = 4;
  TranslationCache cache(nullptr, kMost);
  const auto is_reused = [&](unsigned number) {
    return cache.get(numbered(number)).origin == Origin::reused;
  };
  EXPECT_FALSE(is_reused(0));
  EXPECT_TRUE(is_reused(0));
  for (unsigned i = 1; i < kMost; ++i) EXPECT_FALSE(is_reused(i));
  EXPECT_TRUE(is_reused(0));
  EXPECT_FALSE(is_reused(kMost));  // instead of 1
  EXPECT_TRUE(is_reused(0));
  EXPECT_FALSE(is_reused(1));
}

// Asked before each piece; what was made until then is dropped, so that the next one begins anew.
TEST(TranslationCache, ATranslationIsCancelledBetweenItsPieces) {
  TranslationCache cache;
  const Routine routine = of_several_pieces();
  ASSERT_GE(routine.pieces.size(), 4u);
  unsigned calls = 0;
  EXPECT_THROW(cache.get(routine, [&] { return ++calls == 3; }), Cancelled);
  EXPECT_EQ(calls, 3u);
  calls = 0;
  EXPECT_EQ(cache.get(routine, [&] { return ++calls == 0; }).origin, Origin::translated);
  EXPECT_EQ(calls, routine.pieces.size());
}

// While one thread is in the middle of a routine, another one translates another.
TEST(TranslationCache, ThreadsTranslateDifferentRoutinesAtTheSameTime) {
  TranslationCache cache;
  bool was_made = false;
  const Routine longer = of_several_pieces(), other = numbered(0);
  // They are the same, and wait for each other, where there is no assembler.
  ASSERT_NE(longer.key, other.key);
  cache.get(longer, [&] {
    if (!was_made) std::thread([&] { was_made = cache.get(other).origin == Origin::translated; }).join();
    return false;
  });
  EXPECT_TRUE(was_made);
}

TEST(TranslationCache, ThreadsTranslateOneRoutineOnce) {
  TranslationCache cache;
  std::atomic<unsigned> made = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i)
    threads.emplace_back([&] { made += cache.get(numbered(1)).origin == Origin::translated; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1u);
}

// Who waits for another thread's translation may have had enough; the other one goes on.
TEST(TranslationCache, WaitingIsCancelled) {
  TranslationCache cache;
  const Routine routine = of_several_pieces();
  bool waited = false;
  const auto waiter = [&] { EXPECT_THROW(cache.get(routine, [] { return true; }), Cancelled); };
  const FoundTranslation found = cache.get(routine, [&] {
    if (!std::exchange(waited, true)) std::thread(waiter).join();
    return false;
  });
  EXPECT_EQ(found.origin, Origin::translated);
}

class StoredTranslations : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "lockstep-test-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<cache::Store> store(uint64_t limit = 1 << 24) const {
    return cache::Store::open_in(folder_, limit);
  }
  // As another process would find it.
  Origin origin(const Routine& routine) const { return TranslationCache(store()).get(routine).origin; }
  fs::path entry() const {
    std::vector<fs::path> all;
    for (const auto& each : fs::directory_iterator(folder_)) all.push_back(each.path());
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? fs::path() : all.front();
  }

  fs::path folder_;
};

TEST_F(StoredTranslations, AreFoundAndRunAsTheyWere) {
  const Routine routine = of_several_pieces();
  const FoundTranslation first = TranslationCache(store()).get(routine);
  const FoundTranslation second = TranslationCache(store()).get(routine, [] {
    ADD_FAILURE() << "nothing is translated";
    return true;
  });
  EXPECT_EQ(first.origin, Origin::translated);
  EXPECT_EQ(second.origin, Origin::stored);
  EXPECT_EQ(second.translation->code_bytes(), first.translation->code_bytes());
  EXPECT_EQ(second.translation->memory_slots(), first.translation->memory_slots());
  EXPECT_EQ(second.translation->instructions(), first.translation->instructions());
  EXPECT_EQ(second.translation->stages().generate, 0);
  EXPECT_TRUE(second.translation->entry_at(0)->function);
}

TEST_F(StoredTranslations, AreOfOneRoutineOnly) {
  EXPECT_EQ(origin(numbered(0)), Origin::translated);
  EXPECT_EQ(origin(numbered(0)), Origin::stored);
  EXPECT_EQ(origin(numbered(1)), Origin::translated);
  EXPECT_NE(stored_key(numbered(0)), stored_key(numbered(1)));
  const std::vector<uint32_t>& code = interpreter::assembled("s_mov_b32 s0, 1000", 32);
  const auto begin = reinterpret_cast<uint64_t>(code.data());
  const std::vector<CodeRange> ranges = {{begin, begin + 4 * code.size()}};
  EXPECT_EQ(origin(find_routine(ranges, begin, 32, 8)), Origin::translated);
  EXPECT_EQ(origin(find_routine(ranges, begin, 64, kMaxVgprs)), Origin::translated);
}

TEST_F(StoredTranslations, ThatAreDamagedAreMadeAgain) {
  const Routine routine = numbered(0);
  EXPECT_EQ(origin(routine), Origin::translated);
  std::string whole;
  {
    std::ifstream file(entry(), std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(file), {});
  }
  const auto damage = [&](std::string text) {
    std::ofstream(entry(), std::ios::binary | std::ios::trunc) << text;
    EXPECT_EQ(origin(routine), Origin::translated);
    EXPECT_EQ(origin(routine), Origin::stored);
  };
  damage("");
  for (const size_t size : {size_t{1}, size_t{20}, size_t{60}, whole.size() / 2, whole.size() - 1})
    damage(whole.substr(0, size));
  damage(whole + "x");
  for (size_t at = 0; at < whole.size(); at += 1 + whole.size() / 20) {
    std::string text = whole;
    text[at] = static_cast<char>(text[at] ^ 1 << at % 8);
    damage(text);
  }
}

// The checksum holds, but it is not what belongs there.
TEST_F(StoredTranslations, ThatMakeNoSenseAreMadeAgain) {
  const Routine routine = numbered(0);
  const std::vector<Object> objects = translate(routine);
  Object no_object;
  no_object.bytes.assign(100, 'x');
  Object other_name = objects[0];
  const std::string symbol = kFunctionName;
  const auto found =
      std::search(other_name.bytes.begin(), other_name.bytes.end(), symbol.begin(), symbol.end());
  ASSERT_NE(found, other_name.bytes.end());
  *found = 'L';
  for (const std::string& text :
       {std::string(), packed({}), packed({objects[0], objects[0]}), packed(objects).substr(0, 30),
        packed(objects) + "x", packed({no_object}), packed({Object()}), packed({other_name})}) {
    store()->store(stored_key(routine), text);
    EXPECT_EQ(origin(routine), Origin::translated);
    EXPECT_EQ(origin(routine), Origin::stored);
  }
}

// Whoever can write there could make this process run anything.
TEST_F(StoredTranslations, ThatOthersCanWriteAreNotRead) {
  const Routine routine = numbered(0);
  EXPECT_EQ(origin(routine), Origin::translated);
  const fs::path file = entry();
  for (const mode_t mode : {0620, 0602}) {
    chmod(file.c_str(), mode);
    EXPECT_EQ(origin(routine), Origin::translated);
    EXPECT_EQ(origin(routine), Origin::stored);
  }
  const fs::path elsewhere = folder_.string() + "-elsewhere";
  fs::rename(file, elsewhere);
  fs::create_symlink(elsewhere, file);
  EXPECT_EQ(origin(routine), Origin::translated);
  EXPECT_FALSE(fs::is_symlink(file));
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(origin(routine), Origin::translated);
  EXPECT_EQ(origin(routine), Origin::stored);
  fs::remove(elsewhere);
  for (const mode_t mode : {0770, 0707}) {
    chmod(folder_.c_str(), mode);
    EXPECT_EQ(store(), nullptr);
  }
  chmod(folder_.c_str(), 0700);
  EXPECT_NE(store(), nullptr);
  // Nor where somebody can put another folder in its place.
  const fs::path inner = folder_ / "inner";
  ASSERT_EQ(mkdir(inner.c_str(), 0700), 0);
  chmod(folder_.c_str(), 0777);
  EXPECT_EQ(cache::Store::open_in(inner, 1 << 20), nullptr);
  chmod(folder_.c_str(), 01777);
  EXPECT_NE(cache::Store::open_in(inner, 1 << 20), nullptr);
  chmod(folder_.c_str(), 0700);
  if (geteuid() != 0) return;
  fs::remove(inner);
  ASSERT_EQ(chown(file.c_str(), 1, 1), 0);
  EXPECT_EQ(origin(routine), Origin::translated);
  ASSERT_EQ(chown(folder_.c_str(), 1, 1), 0);
  EXPECT_EQ(store(), nullptr);
  ASSERT_EQ(chown(folder_.c_str(), 0, 0), 0);
}

// A disk that is full, and a folder that is gone: the kernel runs all the same.
TEST_F(StoredTranslations, ThatCannotBeWrittenAreNotKept) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100, 100};
    setrlimit(RLIMIT_FSIZE, &limit);
    const bool translated = origin(numbered(0)) == Origin::translated && fs::is_empty(folder_);
    _exit(translated && origin(numbered(0)) == Origin::translated ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  TranslationCache cache(store());
  fs::remove_all(folder_);
  EXPECT_EQ(cache.get(numbered(0)).origin, Origin::translated);
}

TEST_F(StoredTranslations, ThatWereUsedLongestAgoGo) {
  for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(origin(numbered(i)), Origin::translated);
  const uint64_t all = store()->contents().bytes;
  for (unsigned i = 0; i < 8; ++i) {
    const fs::path file = folder_ / (stored_key(numbered(i)) + ".entry");
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(10 - i));
  }
  EXPECT_EQ(origin(numbered(0)), Origin::stored);  // used last
  std::ofstream(folder_ / "old.part-123456") << "x";
  fs::last_write_time(folder_ / "old.part-123456", fs::file_time_type::clock::now() - std::chrono::hours(2));
  TranslationCache(store(all)).get(numbered(8));
  EXPECT_LE(store()->contents().bytes, all);
  EXPECT_FALSE(fs::exists(folder_ / "old.part-123456"));
  EXPECT_EQ(origin(numbered(0)), Origin::stored);
  EXPECT_EQ(origin(numbered(8)), Origin::stored);
  EXPECT_EQ(origin(numbered(1)), Origin::translated);
}

// Writers and readers of the same entries, none of which may see a half.
TEST_F(StoredTranslations, AreSharedByProcesses) {
  std::vector<pid_t> children;
  for (unsigned i = 0; i < 4; ++i) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    const auto shared = store();
    const std::string key = stored_key(numbered(0)), contents(100'000, 'a');
    bool intact = true;
    for (unsigned round = 0; round < 50; ++round) {
      shared->store(key, contents);
      std::string found;
      if (shared->find(key, found)) intact &= found == contents;
      if (round % 16 == i) shared->clear();
    }
    _exit(intact ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

TEST(BuildId, IsOfTheModuleThatHasTheAddress) {
  const std::string own = build_id_of(reinterpret_cast<const void*>(&numbered));
  const std::string libc = build_id_of(reinterpret_cast<const void*>(&getpid));
  EXPECT_GE(own.size(), 8u);
  EXPECT_NE(own, libc);
  const int local = 0;
  EXPECT_EQ(build_id_of(&local), "");
}

}  // namespace
}  // namespace lockstep::translator
