// Stores to an address that nobody has mapped, by one work-group or so many: the runtime ends the program, and Lockstep says where.
#include "check.h"

__global__ void store(int* place) {
  *place = 1;
}

int main(int count, char** arguments) {
  store<<<count > 1 ? std::atoi(arguments[1]) : 1, 1>>>(reinterpret_cast<int*>(0x1234567000));
  CHECK(hipDeviceSynchronize());
  return verdict("fault", 1);
}
