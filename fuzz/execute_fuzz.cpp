// libFuzzer target: any bytes as code, on a wave that may touch little. Whatever the code, the wave ends,
// faults or uses up its budget, and nothing outside the mapped memory is read or written.
#include <cstddef>
#include <cstdint>

#include "tests/engine/interpreter/execute_anything.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::interpreter::execute_bytes({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
