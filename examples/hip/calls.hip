// What is left of calls where nothing is inlined: functions with stacks, pointers to functions, virtual
// functions, recursion, and malloc(), printf() and assert(), which are functions of the device library.
// Compiled without optimisation (-O0) each is a call.
#include <hip/hip_runtime.h>

#include <cassert>
#include <vector>

#include "check.h"

namespace {

constexpr int kItems = 256, kGroup = 64, kAllocated = 8, kTold = 70, kMostRecursion = 11;

struct Shape {
  __host__ __device__ virtual ~Shape() {}
  __host__ __device__ virtual int area(int n) const = 0;
};
struct Square : Shape {
  int side;
  __host__ __device__ explicit Square(int s) : side(s) {}
  __host__ __device__ int area(int n) const override { return side * side + n; }
};
struct Strip : Shape {
  int length;
  __host__ __device__ explicit Strip(int l) : length(l) {}
  __host__ __device__ int area(int n) const override { return 3 * length - n; }
};

__host__ __device__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__host__ __device__ int twice(int x) {
  return 2 * x;
}
__host__ __device__ int thrice(int x) {
  return 3 * x;
}

__host__ __device__ int calls(int i) {
  const Square square(i);
  const Strip strip(i);
  const Shape* const shapes[] = {&square, &strip};
  int (*const function)(int) = i % 3 != 0 ? twice : thrice;
  return shapes[i & 1]->area(i) + fibonacci(i % kMostRecursion) + function(i);
}

__global__ void kernel(int* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  int sum = calls(i);
  int* const memory = static_cast<int*>(malloc(kAllocated * sizeof(int)));
  assert(memory);
  for (int k = 0; k < kAllocated; ++k) memory[k] = i * k;
  for (int k = 0; k < kAllocated; ++k) sum += memory[k];
  free(memory);
  __shared__ int all[kGroup];
  all[threadIdx.x] = sum;
  __syncthreads();
  out[i] = sum + all[kGroup - 1 - threadIdx.x];
  if (i == kTold) printf("item %d has %d, %s %.2f\n", i, sum, "as text", i / 4.0);
}

int expected(int i) {
  return calls(i) + i * (kAllocated * (kAllocated - 1) / 2);
}

}  // namespace

int main() {
  // No compiler knows how deep recursion goes: HIP gives 1 KiB or what the kernel is known to need, if that
  // is more.
  CHECK(hipDeviceSetLimit(hipLimitStackSize, 8192));
  int* device = nullptr;
  CHECK(hipMalloc(&device, kItems * sizeof(int)));
  kernel<<<kItems / kGroup, kGroup>>>(device);
  CHECK(hipDeviceSynchronize());
  std::vector<int> results(kItems);
  CHECK(hipMemcpy(results.data(), device, kItems * sizeof(int), hipMemcpyDeviceToHost));
  long wrong = 0;
  for (int i = 0; i < kItems; ++i) {
    const int other = i / kGroup * kGroup + kGroup - 1 - i % kGroup;
    wrong += results[i] != expected(i) + expected(other);
  }
  CHECK(hipFree(device));
  return verdict("calls", wrong);
}
