#include "memory/range_user.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "memory/address_space.h"

namespace lockstep {
namespace {

constexpr uint64_t kPage = 4096, kPlace = 0x10000;

struct RangeUserTest : testing::Test {
  AddressSpace space{AddressSpace::Changes::seen_at_once};
  std::shared_ptr<const RangeSet> ranges = space.snapshot();

  RangeUserTest() { EXPECT_TRUE(space.map(kPlace, 4 * kPage, kReadWrite, "buffer")); }

  // Whether that comes back only when the user has ended its use.
  void expect_wait(const std::function<void()>& change) {
    RangeUser user(ranges.get());
    const uint64_t version = user.begin();
    std::atomic<bool> is_back = false;
    std::thread changing([&] {
      change();
      is_back = true;
    });
    while (ranges->version() == version) std::this_thread::yield();
    // Who does not wait is back before this.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(is_back);
    user.end();
    changing.join();
    EXPECT_NE(user.begin(), version);
  }
};

TEST_F(RangeUserTest, UnmappingWaits) {
  expect_wait([&] { space.unmap(kPlace); });
}

TEST_F(RangeUserTest, UnmappingAPartWaits) {
  expect_wait([&] { space.unmap(kPlace + kPage, kPage); });
}

TEST_F(RangeUserTest, MappingOverWaits) {
  expect_wait([&] { space.map_over(kPlace, kPage, kRead, "other"); });
}

TEST_F(RangeUserTest, ClearingWaits) {
  expect_wait([&] { space.clear(); });
}

// Nothing of what a user has found is gone.
TEST_F(RangeUserTest, NothingElseWaits) {
  RangeUser user(ranges.get());
  user.begin();
  EXPECT_TRUE(space.map(kPlace + 8 * kPage, kPage, kReadWrite, "another"));
  EXPECT_TRUE(space.map_over(kPlace + 16 * kPage, kPage, kReadWrite, "where nothing was"));
  space.unmap(kPlace + 32 * kPage, kPage);
  EXPECT_FALSE(space.unmap(kPlace + kPage));
  user.end();
  space.unmap(kPlace);
}

// Launches of other devices have what they need for themselves.
TEST(RangeUserOfSnapshotTest, NobodyWaits) {
  AddressSpace space;
  ASSERT_TRUE(space.map(kPlace, kPage, kReadWrite, "buffer"));
  const auto ranges = space.snapshot();
  RangeUser user(ranges.get()), of_nothing;
  EXPECT_EQ(user.begin(), 0u);
  EXPECT_EQ(of_nothing.begin(), 0u);
  EXPECT_TRUE(space.unmap(kPlace));
}

// They may have what a slow user has noted down for all behind the back of the change.
TEST_F(RangeUserTest, UnmappingWaitsForWhoBeganMeanwhile) {
  RangeUser slow(ranges.get()), other(ranges.get());
  const uint64_t version = slow.begin();
  std::atomic<bool> is_back = false;
  std::thread unmapping([&] {
    space.unmap(kPlace);
    is_back = true;
  });
  while (ranges->version() == version) std::this_thread::yield();
  const uint64_t later = other.begin();
  EXPECT_NE(later, version);
  slow.end();
  while (ranges->version() == later) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(is_back);
  EXPECT_NE(slow.begin(), later) << "forgets what it has noted down";
  slow.end();
  other.end();
  unmapping.join();
}

// A shared note of what was found, as translated code keeps it.
TEST_F(RangeUserTest, WhatIsGoneIsNotUsedBehindIt) {
  std::atomic<bool> stop = false, is_mapped = true;
  std::atomic<const Range*> note = nullptr;
  std::atomic<uint64_t> noted_at = 0, wrong = 0, uses = 0;
  const auto use = [&] {
    RangeUser user(ranges.get());
    while (!stop) {
      const uint64_t version = user.begin();
      if (noted_at != version) {
        note = nullptr;
        noted_at = version;
      }
      for (int i = 0; i < 50; ++i) {
        const Range* range = note;
        if (!range) note = range = ranges->find(kPlace, 8, kRead);
        if (!range) continue;
        ++uses;
        if (!is_mapped) ++wrong;
      }
      user.end();
      std::this_thread::yield();
    }
  };
  std::thread first(use), second(use);
  for (int i = 0; i < 100; ++i) {
    const uint64_t before = uses;
    while (uses == before) std::this_thread::yield();
    space.unmap(kPlace);
    is_mapped = false;
    std::this_thread::yield();
    is_mapped = true;
    ASSERT_TRUE(space.map(kPlace, 4 * kPage, kReadWrite, "buffer"));
  }
  stop = true;
  first.join();
  second.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace lockstep
