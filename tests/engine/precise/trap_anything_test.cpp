#include "tests/engine/precise/trap_anything.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/sweep.h"

namespace lockstep::precise {
namespace {

// Sanitized builds run fewer: each program costs them ten times as much.
const unsigned kPrograms = test::kIsSanitized ? 300 : test::of_sweep(3'000, 1'000);

// The fuzzer fuzz/traps_fuzz.cpp looks for more.
TEST(TrapAnything, ValidInstructions) {
  for (uint32_t seed = 0; seed < kPrograms; ++seed) trap_anything(std::as_bytes(std::span(&seed, 1)));
}

TEST(TrapAnything, RandomWords) {
  std::mt19937_64 random(7);
  for (unsigned i = 0; i < kPrograms; ++i) {
    std::vector<std::byte> bytes(20 + 4 * (random() % 32));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    trap_anything(bytes);
  }
}

}  // namespace
}  // namespace lockstep::precise
