// Two devices: each computes, one copies from the other, a kernel of one reads the other's memory, and two
// kernels that run at the same time wait for each other, as those of collective operations do.
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
// All groups of both devices go on when all have come.
__global__ void meet(unsigned* come, unsigned all) {
  if (threadIdx.x == 0) {
    __hip_atomic_fetch_add(come, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
    while (__hip_atomic_load(come, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) < all) {
    }
  }
  __syncthreads();
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

  constexpr unsigned meeting = 16;
  unsigned* come = nullptr;
  CHECK(hipHostMalloc(&come, sizeof *come, hipHostMallocCoherent | hipHostMallocPortable));
  *come = 0;
  for (int device = 0; device < 2; ++device) {
    CHECK(hipSetDevice(device));
    meet<<<meeting, 64>>>(come, 2 * meeting);
  }
  for (int device = 0; device < 2; ++device) {
    CHECK(hipSetDevice(device));
    CHECK(hipDeviceSynchronize());
  }
  wrong += *come != 2 * meeting;
  return verdict("two devices", wrong);
}
