// An assertion fails on the device: its text is printed, and the runtime ends the program.
#include <cassert>

#include "check.h"

__global__ void divide(const int* by, int* result) {
  const int i = threadIdx.x;
  assert(by[i] != 0);
  result[i] = 1000 / by[i];
}

int main() {
  int *by, *result;
  CHECK(hipMallocManaged(&by, 64 * sizeof(int)));
  CHECK(hipMallocManaged(&result, 64 * sizeof(int)));
  for (int i = 0; i < 64; ++i) by[i] = i + 1;
  divide<<<1, 64>>>(by, result);
  CHECK(hipDeviceSynchronize());
  long wrong = 0;
  for (int i = 0; i < 64; ++i) wrong += result[i] != 1000 / (i + 1);
  verdict("assertions that hold", wrong);
  std::fflush(stdout);
  by[37] = 0;
  divide<<<1, 64>>>(by, result);
  CHECK(hipDeviceSynchronize());
  return verdict("an assertion that fails", 1);
}
