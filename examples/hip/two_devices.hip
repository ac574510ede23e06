// Two devices: each computes, one copies from the other, and a kernel of one reads the other's memory.
#include <vector>

#include "check.h"

__global__ void fill(int* data, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = value + i;
}
__global__ void add(const int* from, int* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] += from[i];
}

int main() {
  constexpr int n = 10'000, groups = (n + 255) / 256;
  int devices = 0;
  CHECK(hipGetDeviceCount(&devices));
  if (devices < 2) {
    std::printf("two devices: there is one (start it with two)\n");
    return 2;
  }
  int* data[2];
  for (int device = 0; device < 2; ++device) {
    CHECK(hipSetDevice(device));
    CHECK(hipMalloc(&data[device], n * sizeof(int)));
    fill<<<groups, 256>>>(data[device], n, 100 * device);
    CHECK(hipDeviceSynchronize());
  }
  int can = 0;
  CHECK(hipDeviceCanAccessPeer(&can, 0, 1));
  CHECK(hipSetDevice(0));
  if (can) CHECK(hipDeviceEnablePeerAccess(1, 0));
  long wrong = !can;
  std::vector<int> result(n);
  if (can) {
    add<<<groups, 256>>>(data[1], data[0], n);
    CHECK(hipMemcpy(result.data(), data[0], n * sizeof(int), hipMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) wrong += result[i] != 100 + 2 * i;
  }
  CHECK(hipMemcpyPeer(data[1], 1, data[0], 0, n * sizeof(int)));
  CHECK(hipSetDevice(1));
  CHECK(hipMemcpy(result.data(), data[1], n * sizeof(int), hipMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) wrong += result[i] != 100 + 2 * i;
  return verdict("two devices", wrong);
}
