#include "toolchain/files_read.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <vector>

namespace lockstep::toolchain {
namespace {

namespace fs = std::filesystem;

class FilesReadTest : public testing::Test {
 protected:
  FilesReadTest() { fs::create_directories(folder_ / "late"); }
  ~FilesReadTest() override { fs::remove_all(folder_); }

  void write(const char* name, std::string_view text) const { std::ofstream(folder_ / name) << text; }
  std::string at(const char* name) const { return (folder_ / name).string(); }
  std::optional<FilesRead> read(const std::string& names, std::string_view text = {}) const {
    return FilesRead::from("code: " + names + "\n", text, folders_);
  }
  // Asked twice: as it was made, and as it was written down and read again.
  static bool unchanged(const FilesRead& files) {
    const std::optional<FilesRead> again = FilesRead::parse(files.record());
    EXPECT_TRUE(again);
    EXPECT_EQ(files.are_unchanged(), again && again->are_unchanged());
    return files.are_unchanged();
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("lockstep_files_" + std::to_string(getpid()));
  const std::vector<fs::path> folders_ = {folder_, folder_ / "early", folder_ / "late"};
};

TEST_F(FilesReadTest, ContentsCountAndTimesDoNot) {
  write("late/a.h", "1");
  const std::optional<FilesRead> files = read(at("late/a.h"));
  ASSERT_TRUE(files);
  EXPECT_TRUE(unchanged(*files));
  write("late/a.h", "2");
  EXPECT_FALSE(unchanged(*files));
  write("late/a.h", "1");
  EXPECT_TRUE(unchanged(*files));
  fs::remove(at("late/a.h"));
  EXPECT_FALSE(unchanged(*files));
}

TEST_F(FilesReadTest, NamesAsClangWritesThemForMake) {
  write("late/a b#c$.h", "1");
  write("late/other.h", "1");
  const std::string written = at("late/a\\ b\\#c$$.h") + " \\\n  " + at("late/other.h");
  for (const char* name : {"late/a b#c$.h", "late/other.h"}) {
    write(name, "1");
    const std::optional<FilesRead> files = read(written);
    ASSERT_TRUE(files) << name;
    write(name, "2");
    EXPECT_FALSE(unchanged(*files)) << name;
  }
}

TEST_F(FilesReadTest, AnotherFileThatWouldBeFoundFirst) {
  fs::create_directories(folder_ / "late/sub");
  write("late/sub/a.h", "1");
  const std::optional<FilesRead> files = read(at("late/sub/a.h"));
  ASSERT_TRUE(files);
  EXPECT_TRUE(unchanged(*files));
  // Neither the folder nor the one in it was there.
  fs::create_directories(folder_ / "early/sub");
  EXPECT_FALSE(unchanged(*files));
  const std::optional<FilesRead> with_folders = read(at("late/sub/a.h"));
  ASSERT_TRUE(with_folders);
  EXPECT_TRUE(unchanged(*with_folders));
  write("early/sub/b.h", "1");
  EXPECT_TRUE(unchanged(*with_folders));
  write("early/sub/a.h", "1");
  EXPECT_FALSE(unchanged(*with_folders));
}

TEST_F(FilesReadTest, FilesThatAreAskedFor) {
  write("late/a.h", "#ifdef __has_include\n#if __has_include( <maybe.h> )\n#endif\n#endif\n");
  const std::optional<FilesRead> files = read(at("late/a.h"));
  ASSERT_TRUE(files);
  EXPECT_TRUE(unchanged(*files));
  write("early.h", "");
  EXPECT_TRUE(unchanged(*files));
  write("maybe.h", "");
  EXPECT_FALSE(unchanged(*files));
  // One that is there, and is read by nobody.
  const std::optional<FilesRead> with_it = read(at("late/a.h"));
  ASSERT_TRUE(with_it);
  fs::remove(at("maybe.h"));
  EXPECT_FALSE(unchanged(*with_it));
  EXPECT_FALSE(read(at("late/a.h"), "#if __has_include(NAME)"));
  EXPECT_FALSE(read(at("late/a.h"), "#if __has_embed(\"data\")"));
}

TEST_F(FilesReadTest, WhatDoesNotFollowFromFiles) {
  write("late/a.h", "1");
  EXPECT_TRUE(read("- " + at("late/a.h"), "int date;"));
  for (const char* word : {"__DATE__", "__TIME__", "__TIMESTAMP__"}) {
    EXPECT_FALSE(read(at("late/a.h"), word));
    write("late/a.h", word);
    EXPECT_FALSE(read(at("late/a.h"))) << word;
  }
  EXPECT_FALSE(read(at("late/gone.h")));
  EXPECT_FALSE(read(at("late")));
  // A pipe would be waited for.
  ASSERT_EQ(mkfifo(at("late/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read(at("late/pipe")));
}

TEST_F(FilesReadTest, WhenTheyWereChanged) {
  timespec before{};
  clock_gettime(CLOCK_REALTIME_COARSE, &before);
  write("late/a.h", "1");
  const std::optional<FilesRead> files = read(at("late/a.h"));
  ASSERT_TRUE(files);
  EXPECT_TRUE(files->changed_since(before));
  EXPECT_FALSE(files->changed_since({before.tv_sec + 3600, 0}));
}

TEST_F(FilesReadTest, DamagedRecords) {
  EXPECT_TRUE(FilesRead::parse(""));
  EXPECT_FALSE(FilesRead::parse("absent"));
  EXPECT_FALSE(FilesRead::parse("absent /a"));
  EXPECT_FALSE(FilesRead::parse("absent\n/a b\n"));
}

}  // namespace
}  // namespace lockstep::toolchain
