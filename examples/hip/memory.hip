// All kinds of memory: managed, of the host (made and registered), variables of the device, rectangles, and
// malloc() on the device.
#include <cstring>
#include <vector>

#include "check.h"

__device__ int counter = 5;

__global__ void fill(int* data, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = value + i;
}
__global__ void count(int* seen) {
  *seen = ++counter;
}
__global__ void allocate(int** places) {
  int* place = static_cast<int*>(malloc(64));
  if (place) *place = threadIdx.x;
  places[threadIdx.x] = place;
}
__global__ void take_back(int** places, int* values) {
  values[threadIdx.x] = places[threadIdx.x] ? *places[threadIdx.x] : -1;
  free(places[threadIdx.x]);
}

long differing(const int* data, int n, int value) {
  long wrong = 0;
  for (int i = 0; i < n; ++i) wrong += data[i] != value + i;
  return wrong;
}

int main() {
  constexpr int n = 10'000, groups = (n + 255) / 256;
  long wrong = 0;

  int* managed;
  CHECK(hipMallocManaged(&managed, n * sizeof(int)));
  fill<<<groups, 256>>>(managed, n, 1);
  CHECK(hipDeviceSynchronize());
  wrong += differing(managed, n, 1);
  CHECK(hipFree(managed));

  int* pinned;
  CHECK(hipHostMalloc(&pinned, n * sizeof(int)));
  fill<<<groups, 256>>>(pinned, n, 2);
  CHECK(hipDeviceSynchronize());
  wrong += differing(pinned, n, 2);
  CHECK(hipHostFree(pinned));

  int* const own = static_cast<int*>(std::malloc((n + 8) * sizeof(int)));
  int* device_view;
  CHECK(hipHostRegister(own + 3, n * sizeof(int), hipHostRegisterDefault));
  CHECK(hipHostGetDevicePointer(reinterpret_cast<void**>(&device_view), own + 3, 0));
  fill<<<groups, 256>>>(device_view, n, 3);
  CHECK(hipDeviceSynchronize());
  wrong += differing(own + 3, n, 3);
  CHECK(hipHostUnregister(own + 3));
  std::free(own);

  int* seen;
  CHECK(hipMalloc(&seen, sizeof *seen));
  count<<<1, 1>>>(seen);
  count<<<1, 1>>>(seen);
  int last = 0, variable = 0;
  CHECK(hipMemcpy(&last, seen, sizeof last, hipMemcpyDeviceToHost));
  CHECK(hipMemcpyFromSymbol(&variable, HIP_SYMBOL(counter), sizeof variable));
  wrong += last != 7 || variable != 7;

  constexpr size_t kLarge = 1 << 20;
  std::vector<int> from(kLarge), to(kLarge);
  for (size_t i = 0; i < kLarge; ++i) from[i] = static_cast<int>(i * 7);
  char *first, *second;
  CHECK(hipMalloc(&first, kLarge * sizeof(int)));
  CHECK(hipMalloc(&second, kLarge * sizeof(int)));
  CHECK(hipMemcpy(first, from.data(), kLarge * sizeof(int), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(second, first, kLarge * sizeof(int), hipMemcpyDeviceToDevice));
  CHECK(hipMemcpy(to.data(), second, kLarge * sizeof(int), hipMemcpyDeviceToHost));
  wrong += from != to;
  CHECK(hipMemcpy2D(second, 512, first, 1024, 256, 100, hipMemcpyDeviceToDevice));
  CHECK(hipMemcpy2D(to.data(), 300, second, 512, 256, 100, hipMemcpyDeviceToHost));
  for (int y = 0; y < 100; ++y)
    wrong += std::memcmp(reinterpret_cast<char*>(to.data()) + y * 300,
                         reinterpret_cast<char*>(from.data()) + y * 1024, 256) != 0;

  int **places, *values;
  CHECK(hipMalloc(&places, 64 * sizeof *places));
  CHECK(hipMalloc(&values, 64 * sizeof *values));
  allocate<<<1, 64>>>(places);
  take_back<<<1, 64>>>(places, values);
  int host_values[64];
  CHECK(hipMemcpy(host_values, values, sizeof host_values, hipMemcpyDeviceToHost));
  wrong += differing(host_values, 64, 0);
  return verdict("memory", wrong);
}
