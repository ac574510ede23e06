// What `lockstep exec` writes of dispatches.
#include "host/reports.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "host/code_objects.h"
#include "machine/dispatch_listener.h"

namespace lockstep::host {
namespace {

struct LogTest : testing::Test {
  const std::string path =
      std::filesystem::temp_directory_path() / ("lockstep-log-" + std::to_string(getpid()));
  CodeObjects code_objects;
  Reports reports{settings(), code_objects, "navi31"};
  machine::Launch launch;

  ReportSettings settings() const {
    ReportSettings wanted;
    wanted.log = path;
    return wanted;
  }
  ~LogTest() override { std::filesystem::remove(path); }
  std::unique_ptr<machine::DispatchRecord> begin() { return reports.listener(0)->begins(launch); }
  std::vector<std::string> lines() const {
    std::ifstream file(path);
    std::vector<std::string> all;
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }
};

// The program may end while somebody still holds what has been told.
TEST_F(LogTest, ADispatchThatHasEndedIsNotUnfinished) {
  const auto record = begin();
  record->ended({});
  reports.finish();
  ASSERT_EQ(lines().size(), 1u);
  EXPECT_EQ(lines()[0].find("unfinished"), std::string::npos);
  EXPECT_NE(lines()[0].find("translation_seconds"), std::string::npos);
}

TEST_F(LogTest, OneThatEndsBehindTheProgramHasOneLine) {
  const auto record = begin();
  reports.finish();
  record->ended({});
  ASSERT_EQ(lines().size(), 1u);
  EXPECT_NE(lines()[0].find("\"unfinished\":true"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::host
