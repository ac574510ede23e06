// How much of the time that a program waits for a kernel its thread takes the processor. HIP looks at the signal without
// pause; under `lockstep exec`, where the kernel needs the processor, it sleeps.
#include <time.h>

#include "check.h"

__global__ void run_for(long long ticks, int* done) {
  const long long begin = wall_clock64();
  while (wall_clock64() - begin < ticks) __builtin_amdgcn_s_sleep(1);
  *done = 1;
}

static double seconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

int main() {
  constexpr long long ticks = 50'000'000;  // at 100 MHz
  int *done, result = 0;
  CHECK(hipMalloc(&done, sizeof(int)));
  run_for<<<1, 1>>>(1, done);  // what is done once
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemset(done, 0, sizeof(int)));
  const double begin = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_THREAD_CPUTIME_ID);
  run_for<<<1, 1>>>(ticks, done);
  CHECK(hipDeviceSynchronize());
  std::printf("waited %.3f s, took the processor for %.3f s\n", seconds(CLOCK_MONOTONIC) - begin,
              seconds(CLOCK_THREAD_CPUTIME_ID) - used);
  CHECK(hipMemcpy(&result, done, sizeof(int), hipMemcpyDeviceToHost));
  return verdict("patience", result != 1);
}
