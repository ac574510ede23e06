// Adds two vectors: memory of the device, copies, one kernel.
#include <vector>

#include "check.h"

__global__ void add(const float* a, const float* b, float* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}

int main() {
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0));
  std::printf("%s (%s), %d compute units, %zu MiB\n", properties.name, properties.gcnArchName,
              properties.multiProcessorCount, properties.totalGlobalMem >> 20);
  constexpr int n = 100'000;
  std::vector<float> a(n), b(n), sum(n);
  for (int i = 0; i < n; ++i) a[i] = i, b[i] = 0.5f * i;
  float *da, *db, *dsum;
  CHECK(hipMalloc(&da, n * sizeof(float)));
  CHECK(hipMalloc(&db, n * sizeof(float)));
  CHECK(hipMalloc(&dsum, n * sizeof(float)));
  CHECK(hipMemcpy(da, a.data(), n * sizeof(float), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(db, b.data(), n * sizeof(float), hipMemcpyHostToDevice));
  add<<<(n + 255) / 256, 256>>>(da, db, dsum, n);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(sum.data(), dsum, n * sizeof(float), hipMemcpyDeviceToHost));
  long wrong = 0;
  for (int i = 0; i < n; ++i) wrong += sum[i] != 1.5f * i;
  CHECK(hipFree(da));
  CHECK(hipFree(db));
  CHECK(hipFree(dsum));
  return verdict("vector add", wrong);
}
