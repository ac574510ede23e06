#include "tests/engine/interpreter/execute_anything.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/sweep.h"

namespace lockstep::interpreter {
namespace {

// Sanitized builds run fewer: each program costs them ten times as much.
constexpr unsigned kPrograms = test::kIsSanitized ? 1'500 : 6'000;

TEST(ExecuteAnything, RandomWords) {
  std::mt19937_64 random(7);
  for (unsigned i = 0; i < kPrograms; ++i) {
    std::vector<std::byte> bytes(1 + 4 * (1 + random() % 32));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    execute_bytes(bytes);
  }
}

TEST(ExecuteAnything, ValidInstructions) {
  for (unsigned seed = 0; seed < kPrograms; ++seed) execute_bytes(valid_program(seed, 1 + seed % 12));
}

}  // namespace
}  // namespace lockstep::interpreter
