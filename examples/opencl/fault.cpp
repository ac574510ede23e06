// Stores to an address that nobody has mapped: the runtime ends the program, and Lockstep says where.
#include "check.h"

constexpr const char* kSource = R"(
kernel void store(ulong place) { *(global int*)place = 1; }
)";

int main() {
  Cl cl(kSource);
  const cl_command_queue queue = cl.queue();
  const cl_kernel store = cl.kernel("store");
  set_arguments(store, cl_ulong{0x1234567000});
  const size_t one = 1;
  CHECK(clEnqueueNDRangeKernel(queue, store, 1, nullptr, &one, nullptr, 0, nullptr, nullptr));
  CHECK(clFinish(queue));
  return verdict("fault", 1);
}
