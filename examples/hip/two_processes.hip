// A process gives another one a handle of its memory, which that one writes to.
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "check.h"

__global__ void add_one(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1;
}

constexpr int n = 5000;

// The child was made before the first use of a device.
int child(int from, int to) {
  hipIpcMemHandle_t handle;
  if (read(from, &handle, sizeof handle) != sizeof handle) return 1;
  int* data;
  CHECK(hipIpcOpenMemHandle(reinterpret_cast<void**>(&data), handle, hipIpcMemLazyEnablePeerAccess));
  add_one<<<(n + 255) / 256, 256>>>(data, n);
  CHECK(hipDeviceSynchronize());
  CHECK(hipIpcCloseMemHandle(data));
  return write(to, "x", 1) != 1;
}

int main() {
  int down[2], up[2];
  if (pipe(down) != 0 || pipe(up) != 0) return 1;
  const pid_t other = fork();
  if (other == 0) {
    // Nobody but the parent holds the other ends: when it ends early, for whatever reason, there is nothing
    // to wait for.
    close(down[1]);
    close(up[0]);
    _exit(child(down[0], up[1]));
  }
  close(up[1]);
  int* data;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i) values[i] = i;
  CHECK(hipMalloc(&data, n * sizeof(int)));
  CHECK(hipMemcpy(data, values.data(), n * sizeof(int), hipMemcpyHostToDevice));
  hipIpcMemHandle_t handle;
  CHECK(hipIpcGetMemHandle(&handle, data));
  if (write(down[1], &handle, sizeof handle) != sizeof handle) return 1;
  char done;
  const bool good = read(up[0], &done, 1) == 1;
  waitpid(other, nullptr, 0);
  CHECK(hipMemcpy(values.data(), data, n * sizeof(int), hipMemcpyDeviceToHost));
  long wrong = !good;
  for (int i = 0; i < n; ++i) wrong += values[i] != i + 1;
  return verdict("two processes", wrong);
}
