#include "memory/address_space.h"

#include <gtest/gtest.h>

#include <thread>

namespace lockstep {
namespace {

constexpr uint64_t kPage = 4096;

TEST(AddressSpaceTest, SnapshotsStayAsTheyWere) {
  AddressSpace space;
  ASSERT_TRUE(space.map(0x10000, kPage, kRead, "first"));
  const auto before = space.snapshot();
  ASSERT_TRUE(space.map(0x20000, kPage, kReadWrite, "second"));
  EXPECT_TRUE(space.unmap(0x10000));
  EXPECT_TRUE(before->find(0x10000, kPage, kRead));
  EXPECT_FALSE(before->find(0x20000, 1, kRead));
  EXPECT_FALSE(space.snapshot()->find(0x10000, 1, kRead));
  EXPECT_TRUE(space.snapshot()->find(0x20000, kPage, kReadWrite));
  EXPECT_EQ(space.snapshot(), space.snapshot()) << "nothing has changed between the two";
}

TEST(AddressSpaceTest, OverlapsAreRefused) {
  AddressSpace space;
  ASSERT_TRUE(space.map(0x10000, 2 * kPage, kRead, "range"));
  EXPECT_FALSE(space.map(0x11000, kPage, kRead, "inside"));
  EXPECT_FALSE(space.map(0xf000, 2 * kPage, kRead, "over the begin"));
  EXPECT_FALSE(space.map(0xf000, 8 * kPage, kRead, "around"));
  EXPECT_FALSE(space.map(0x30000, 0, kRead, "empty"));
  EXPECT_FALSE(space.map(~uint64_t{0} - 10, kPage, kRead, "wraps"));
  EXPECT_EQ(space.snapshot()->ranges().size(), 1u);
}

TEST(AddressSpaceTest, TheClosestBehindAnAddress) {
  for (const auto changes :
       {AddressSpace::Changes::seen_at_once, AddressSpace::Changes::seen_by_next_dispatch}) {
    AddressSpace space(changes);
    ASSERT_TRUE(space.map(0x10000, kPage, kReadWrite, "low"));
    ASSERT_TRUE(space.map(0x20000, kPage, kReadWrite, "high"));
    const auto ranges = space.snapshot();
    EXPECT_FALSE(ranges->closest_behind(8)) << "a null pointer";
    EXPECT_EQ(ranges->closest_behind(0xfffc).value().name, "low");
    EXPECT_EQ(ranges->closest_behind(0x1fffc).value().name, "high");
    EXPECT_FALSE(ranges->closest_behind(0x11000)) << "the low one ends right there";
    EXPECT_FALSE(ranges->closest_behind(0x10ffc)) << "inside";
    EXPECT_FALSE(ranges->closest_behind(0x21000)) << "nothing begins behind it";
    ASSERT_TRUE(space.map(RangeSet::kFar * 4, kPage, kReadWrite, "far"));
    EXPECT_FALSE(space.snapshot()->closest_behind(RangeSet::kFar * 3 - 8));
    EXPECT_TRUE(space.snapshot()->closest_behind(RangeSet::kFar * 3));
  }
}

struct LiveSpaceTest : testing::Test {
  AddressSpace space{AddressSpace::Changes::seen_at_once};
  std::shared_ptr<const RangeSet> ranges = space.snapshot();
};

TEST_F(LiveSpaceTest, ChangesAreSeenAtOnce) {
  const uint64_t version = ranges->version();
  ASSERT_TRUE(space.map(0x10000, kPage, kReadWrite, "buffer"));
  EXPECT_TRUE(ranges->find(0x10000, kPage, kWrite));
  EXPECT_NE(ranges->version(), version);
  EXPECT_EQ(space.snapshot(), ranges) << "launches keep their decoded code by it";
  ASSERT_TRUE(space.unmap(0x10000));
  EXPECT_FALSE(ranges->find(0x10000, 1, kRead));
}

TEST_F(LiveSpaceTest, RangesThatAdjoinCountAsOne) {
  ASSERT_TRUE(space.map(0x10000, kPage, kReadWrite, "low"));
  ASSERT_TRUE(space.map(0x11000, kPage, kReadWrite | kExecute, "middle"));
  ASSERT_TRUE(space.map(0x12000, kPage, kRead, "high"));
  EXPECT_TRUE(ranges->find(0x10ffc, 8, kReadWrite));
  EXPECT_TRUE(ranges->find(0x10000, 3 * kPage, kRead));
  EXPECT_FALSE(ranges->find(0x10000, 3 * kPage, kReadWrite)) << "the last one may not be written";
  EXPECT_FALSE(ranges->find(0x10ffc, 8, kExecute));
  EXPECT_FALSE(ranges->find(0x12ffc, 8, kRead)) << "nothing behind it";
  EXPECT_FALSE(ranges->find(0x10ffc, 8, kReadWrite, Reaching::one_mapping));
  EXPECT_TRUE(ranges->find(0x10ff8, 8, kReadWrite, Reaching::one_mapping));
}

TEST_F(LiveSpaceTest, StaleRangesGiveWay) {
  ASSERT_TRUE(space.map(0x10000, 4 * kPage, kRead, "stale"));
  const uint64_t serial = ranges->nearest(0x10000)->serial;
  ASSERT_TRUE(space.map_over(0x11000, kPage, kReadWrite, "new"));
  EXPECT_TRUE(ranges->find(0x11000, kPage, kReadWrite));
  EXPECT_EQ(ranges->nearest(0x10000)->serial, serial);
  EXPECT_EQ(ranges->nearest(0x13000)->serial, serial) << "what is left of a mapping is the same mapping";
  EXPECT_EQ(ranges->nearest(0x11fff)->name, "new");
  EXPECT_FALSE(ranges->find(0x10000, 4 * kPage, kWrite));
  EXPECT_TRUE(ranges->find(0x10000, 4 * kPage, kRead));
}

TEST_F(LiveSpaceTest, PartsAreUnmapped) {
  ASSERT_TRUE(space.map(0x10000, 4 * kPage, kReadWrite, "a"));
  ASSERT_TRUE(space.map(0x20000, 4 * kPage, kReadWrite, "b"));
  space.unmap(0x12000, 0x21000 - 0x12000);
  EXPECT_TRUE(ranges->find(0x10000, 2 * kPage, kRead));
  EXPECT_FALSE(ranges->find(0x12000, 1, kRead));
  EXPECT_FALSE(ranges->find(0x20fff, 1, kRead));
  EXPECT_TRUE(ranges->find(0x21000, 3 * kPage, kRead));
  space.unmap(0, ~uint64_t{0});
  EXPECT_TRUE(ranges->ranges().empty());
}

// Translated code keeps what find() has given out.
TEST_F(LiveSpaceTest, WhatWasFoundStaysReadable) {
  ASSERT_TRUE(space.map(0x10000, kPage, kReadWrite, "buffer"));
  const Range* found = ranges->find(0x10000, 1, kRead);
  ASSERT_TRUE(found);
  for (int i = 0; i < 1000; ++i) {
    space.unmap(0x10000);
    ASSERT_TRUE(space.map(0x10000, kPage, kReadWrite, "again"));
    EXPECT_EQ(ranges->find(0x10000, 1, kRead), found) << "one for each extent, not for each mapping";
  }
  EXPECT_EQ(found->begin, 0x10000u);
  EXPECT_EQ(found->end, 0x11000u);
}

TEST_F(LiveSpaceTest, ThreadsMapWhileOthersLook) {
  ASSERT_TRUE(space.map(0x100000, kPage, kReadWrite, "constant"));
  std::atomic<bool> stop = false;
  std::thread looking([&] {
    while (!stop) ASSERT_TRUE(ranges->find(0x100000, kPage, kRead));
  });
  for (uint64_t i = 0; i < 2000; ++i) {
    ASSERT_TRUE(space.map_over(0x200000 + i % 16 * kPage, 4 * kPage, kReadWrite, "moving"));
    space.unmap(0x200000 + i % 7 * kPage, kPage);
  }
  stop = true;
  looking.join();
}

}  // namespace
}  // namespace lockstep
