// libFuzzer target: programs of program flow, in the interpreter and in the precise engine. Long inputs are
// the choices that make the program; short ones are the seed of them. Whatever the program does, both engines
// end alike: the same memory, the same fault at the same place.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>
#include <vector>

#include "tests/engine/precise/compare_engines.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kSeedBytes = 16;
  std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(data),
                               reinterpret_cast<const std::byte*>(data) + size);
  if (size <= kSeedBytes) {
    std::mt19937_64 random(std::hash<std::string_view>{}({reinterpret_cast<const char*>(data), size}));
    bytes.resize(2 + random() % 300);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  }
  const std::string difference = lockstep::precise::compare_engines(bytes);
  if (difference.empty()) return 0;
  std::fprintf(stderr, "engines_fuzz: %s\n", difference.c_str());
  std::abort();
}
