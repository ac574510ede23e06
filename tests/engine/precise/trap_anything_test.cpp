#include "tests/engine/precise/trap_anything.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace lockstep::precise {
namespace {

// Sanitized builds run fewer: each program costs them ten times as much.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr unsigned kPrograms = 300;
#else
constexpr unsigned kPrograms = 3'000;
#endif
#endif

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
