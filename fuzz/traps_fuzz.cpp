// libFuzzer target: code with a trap handler, which may write registers that the machine makes addresses of.
// Whatever both do, nothing outside the guest's memory is read or written.
#include <cstddef>
#include <cstdint>

#include "tests/engine/precise/trap_anything.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::precise::trap_anything({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
