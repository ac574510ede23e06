#include "host/store.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace lockstep::host {
namespace {

TEST(StoreTest, PlacesAreUsedAgainAndEmpty) {
  Store store;
  const uint64_t small = store.allocate(4096), large = store.allocate(4u << 20);
  ASSERT_NE(small, 0u);
  ASSERT_NE(large, 0u);
  EXPECT_EQ(large % (2u << 20), 0u) << "large pages fit";
  auto* const first = static_cast<uint32_t*>(store.map(nullptr, large, 4u << 20));
  auto* const second = static_cast<uint32_t*>(store.map(nullptr, large, 4u << 20));
  ASSERT_TRUE(first && second);
  first[1000] = 7;
  EXPECT_EQ(second[1000], 7u) << "both are the same memory";
  struct stat status = {};
  fstat(store.descriptor(), &status);
  const auto blocks = status.st_blocks;
  EXPECT_GT(blocks, 0);
  store.free(large, 4u << 20);
  fstat(store.descriptor(), &status);
  EXPECT_LT(status.st_blocks, blocks) << "the host has its memory back";
  store.free(small, 4096);
  EXPECT_EQ(store.allocate(4096), small);
  EXPECT_EQ(store.allocate(4u << 20), large);
  EXPECT_EQ(second[1000], 0u) << "of nobody else";
  munmap(first, 4u << 20);
  munmap(second, 4u << 20);
}

TEST(StoreTest, ImpossibleSizesHaveNoPlace) {
  Store store;
  EXPECT_EQ(store.allocate(0), 0u);
  EXPECT_EQ(store.allocate(100), 0u);
  EXPECT_EQ(store.allocate(uint64_t{1} << 46), 0u);
}

}  // namespace
}  // namespace lockstep::host
