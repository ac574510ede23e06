// libFuzzer target: any bytes as a code object, a bundle or a host program.
#include <cstddef>
#include <cstdint>

#include "tests/loader/exercise.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  if (lockstep::loader::exercise(bytes, true) < 0) __builtin_trap();
  return 0;
}
