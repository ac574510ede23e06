// Four streams at a time, with events between two of them, memory from a stream's pool, LDS whose size the
// launch says, and a host function.
#include <vector>

#include "check.h"

__global__ void fill(int* data, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = value + i;
}
__global__ void twice(int* data, int n) {
  extern __shared__ int held[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) held[threadIdx.x] = data[i];
  __syncthreads();
  if (i < n) data[i] = held[threadIdx.x] * 2;
}
__global__ void spin(long long ticks, long long* waited) {
  const long long begin = wall_clock64();
  while (wall_clock64() - begin < ticks);
  *waited = wall_clock64() - begin;
}

int main() {
  constexpr int n = 1 << 16, count = 4;
  hipStream_t streams[count];
  int* data[count];
  std::vector<int> results[count];
  for (int s = 0; s < count; ++s) {
    CHECK(hipStreamCreate(&streams[s]));
    CHECK(hipMallocAsync(&data[s], n * sizeof(int), streams[s]));
    results[s].resize(n);
    fill<<<n / 256, 256, 0, streams[s]>>>(data[s], n, s);
    twice<<<n / 256, 256, 256 * sizeof(int), streams[s]>>>(data[s], n);
    CHECK(hipMemcpyAsync(results[s].data(), data[s], n * sizeof(int), hipMemcpyDeviceToHost, streams[s]));
  }
  long wrong = 0;
  for (int s = 0; s < count; ++s) {
    CHECK(hipStreamSynchronize(streams[s]));
    for (int i = 0; i < n; ++i) wrong += results[s][i] != (s + i) * 2;
    CHECK(hipFreeAsync(data[s], streams[s]));
  }

  // The second stream waits for the first one's event; the events' times agree with the kernel's clock.
  constexpr long long kTicks = 1'000'000;  // 10 ms at 100 MHz
  hipEvent_t begin, end;
  CHECK(hipEventCreate(&begin));
  CHECK(hipEventCreate(&end));
  long long* waited;
  int* after;
  CHECK(hipMalloc(&waited, sizeof *waited));
  CHECK(hipMalloc(&after, sizeof *after));
  CHECK(hipEventRecord(begin, streams[0]));
  spin<<<1, 1, 0, streams[0]>>>(kTicks, waited);
  CHECK(hipEventRecord(end, streams[0]));
  CHECK(hipStreamWaitEvent(streams[1], end, 0));
  fill<<<1, 1, 0, streams[1]>>>(after, 1, 7);
  CHECK(hipStreamSynchronize(streams[1]));
  wrong += hipEventQuery(end) != hipSuccess;
  CHECK(hipEventSynchronize(end));
  float milliseconds = 0;
  CHECK(hipEventElapsedTime(&milliseconds, begin, end));
  long long ticks = 0;
  CHECK(hipMemcpy(&ticks, waited, sizeof ticks, hipMemcpyDeviceToHost));
  wrong += ticks < kTicks || milliseconds < ticks / 100'000.0 * 0.999;

  static bool called = false;
  CHECK(hipLaunchHostFunc(streams[2], [](void* flag) { *static_cast<bool*>(flag) = true; }, &called));
  CHECK(hipStreamSynchronize(streams[2]));
  wrong += !called;
  for (hipStream_t stream : streams) CHECK(hipStreamDestroy(stream));
  return verdict("streams", wrong);
}
