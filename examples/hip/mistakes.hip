// Kernels with a mistake each, for `lockstep exec --check all`; on a card most of them pass without a word:
//   mistakes none|race|outside|freed|wait
#include <cstring>

#include "check.h"

__global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void race(const float* a, float* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) *sum += a[i];  // race: no atomic
}

__device__ void put(float* place, float value) {
  *place = value;  // outside: the last work-items have no element
}

__global__ void outside(const float* a, float* c) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  put(c + i, a[0]);  // inlined
}

__global__ void fill(float* c) {
  c[threadIdx.x] = 1;  // freed: by then the memory is gone
}

__global__ void wait(const float* a, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value;
  asm volatile("global_load_b32 %0, %1, off" : "=v"(value) : "v"(a + i));
  c[i] = value + 1;  // wait: the compiler does not know that there is something to wait for
}

int main(int count, char** arguments) {
  const char* const mistake = count > 1 ? arguments[1] : "none";
  constexpr int n = 1000, groups = 4, items = 256;
  float *a = nullptr, *b = nullptr, *c = nullptr, *gone = nullptr;
  for (float** buffer : {&a, &b, &c, &gone}) {
    CHECK(hipMalloc(reinterpret_cast<void**>(buffer), n * sizeof(float)));
    CHECK(hipMemset(*buffer, 0, n * sizeof(float)));
  }
  fill<<<1, 32>>>(gone);
  CHECK(hipDeviceSynchronize());
  CHECK(hipFree(gone));
  const auto is = [&](const char* name) { return std::strcmp(mistake, name) == 0; };
  if (is("none")) add<<<groups, items>>>(a, b, c, n);
  if (is("race")) race<<<groups, items>>>(a, c, n);
  if (is("outside")) outside<<<groups, items>>>(a, c);
  if (is("freed")) fill<<<1, 32>>>(gone);
  if (is("wait")) wait<<<groups, items>>>(a, c, n);
  CHECK(hipDeviceSynchronize());
  std::printf("mistakes: the kernel has ended\n");
}
