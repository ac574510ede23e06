// Work-groups that all wait for each other, and text from the device.
#include "check.h"
// Behind the runtime's own header, which it needs and does not include.
#include <hip/hip_cooperative_groups.h>

__global__ void meet(int* arrived, int* seen) {
  const auto grid = cooperative_groups::this_grid();
  if (threadIdx.x == 0) atomicAdd(arrived, 1);
  grid.sync();
  if (threadIdx.x == 0) seen[blockIdx.x] = *arrived;
}
__global__ void greet(int number) {
  printf("hello %d from group %d, work-item %d\n", number, static_cast<int>(blockIdx.x),
         static_cast<int>(threadIdx.x));
}

int main() {
  constexpr int groups = 64;
  int *arrived, *seen, result[groups];
  CHECK(hipMalloc(&arrived, sizeof(int)));
  CHECK(hipMalloc(&seen, sizeof result));
  CHECK(hipMemset(arrived, 0, sizeof(int)));
  void* arguments[] = {&arrived, &seen};
  CHECK(hipLaunchCooperativeKernel(reinterpret_cast<void*>(meet), dim3(groups), dim3(64), arguments, 0, nullptr));
  CHECK(hipMemcpy(result, seen, sizeof result, hipMemcpyDeviceToHost));
  long wrong = 0;
  for (int value : result) wrong += value != groups;
  greet<<<2, 2>>>(42);
  CHECK(hipDeviceSynchronize());
  return verdict("cooperative", wrong);
}
