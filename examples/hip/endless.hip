// A program that ends while its kernel never would: endless exit|_exit|abort; or with work that has hardly begun:
// endless pending. Its exit code is 3, or a signal's.
#include <unistd.h>

#include <cstring>

#include "check.h"

__global__ void wait_for_ever(volatile int* words) {
  words[0] = 1;
  while (words[1] == 0) {
  }
}

__global__ void add(int* words) {
  words[threadIdx.x] += 1;
}

int main(int count, char** arguments) {
  const char* const way = count > 1 ? arguments[1] : "exit";
  if (!std::strcmp(way, "pending")) {
    // Kernels that nobody has run before, and nobody waits for.
    int* many;
    CHECK(hipMalloc(&many, 1 << 22));
    CHECK(hipMemsetAsync(many, 0, 1 << 22, nullptr));
    add<<<1, 64>>>(many);
    return 3;
  }
  int* words;
  CHECK(hipHostMalloc(&words, 2 * sizeof(int)));
  words[0] = words[1] = 0;
  wait_for_ever<<<1, 64>>>(words);
  CHECK(hipGetLastError());
  while (*static_cast<volatile int*>(words) == 0) usleep(1000);
  std::printf("the kernel runs\n");
  std::fflush(stdout);
  if (!std::strcmp(way, "_exit")) _exit(3);
  if (!std::strcmp(way, "abort")) std::abort();
  std::exit(3);
}
