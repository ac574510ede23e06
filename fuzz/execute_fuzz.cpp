// libFuzzer target: code on a wave that may touch little, the input's bytes as they are or instructions that
// all decode, made from a seed in the input. Whatever the code, the wave ends, faults or uses up its budget,
// and nothing outside the mapped memory is read or written.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/engine/interpreter/execute_anything.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep::interpreter;
  uint64_t seed;
  if (size > sizeof seed && data[0] & 0x60) {
    std::memcpy(&seed, data + 1, sizeof seed);
    execute_bytes(valid_program(seed, 1 + data[0] % 24));
  } else {
    execute_bytes({reinterpret_cast<const std::byte*>(data), size});
  }
  return 0;
}
