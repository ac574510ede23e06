// Stores to an address that nobody has mapped: the runtime ends the program, and Lockstep says where.
#include "check.h"

__global__ void store(int* place) {
  *place = 1;
}

int main() {
  store<<<1, 1>>>(reinterpret_cast<int*>(0x1234567000));
  CHECK(hipDeviceSynchronize());
  return verdict("fault", 1);
}
