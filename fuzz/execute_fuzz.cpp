// libFuzzer target: code on a wave that may touch little. Long inputs are the code itself; short ones are the
// seed of a program whose instructions all decode. Whatever the code, the wave ends, faults or uses up its
// budget, and nothing outside the mapped memory is read or written.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/engine/interpreter/execute_anything.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep::interpreter;
  constexpr size_t kSeedBytes = 16;
  if (size <= kSeedBytes) {
    const uint64_t seed = std::hash<std::string_view>{}({reinterpret_cast<const char*>(data), size});
    execute_bytes(valid_program(seed, 1 + seed % 24));
  } else {
    execute_bytes({reinterpret_cast<const std::byte*>(data), size});
  }
  return 0;
}
