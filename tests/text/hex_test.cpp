#include "text/hex.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Hex, ShowsAllDigitsThatCount) {
  EXPECT_EQ(hex(0), "0x0");
  EXPECT_EQ(hex(0x7f00), "0x7f00");
  EXPECT_EQ(hex(~uint64_t{0}), "0xffffffffffffffff");
}

}  // namespace
}  // namespace lockstep
