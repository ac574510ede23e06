#include "tests/engine/precise/compare_engines.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/sweep.h"

namespace lockstep::precise {
namespace {

// Sanitized builds run fewer: each program costs them ten times as much.
const unsigned kPrograms = test::kIsSanitized ? 300 : test::of_sweep(3'000, 1'000);

// The fuzzer fuzz/engines_fuzz.cpp looks for more.
TEST(CompareEngines, RandomPrograms) {
  std::mt19937_64 random(11);
  for (unsigned i = 0; i < kPrograms; ++i) {
    std::vector<std::byte> bytes(2 + random() % 160);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    ASSERT_EQ(compare_engines(bytes), "") << "program " << i;
  }
}

}  // namespace
}  // namespace lockstep::precise
