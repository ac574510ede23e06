// Work recorded once and launched three times.
#include <vector>

#include "check.h"

__global__ void add_one(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1;
}

int main() {
  constexpr int n = 4096;
  int* data;
  std::vector<int> result(n);
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t executable;
  CHECK(hipMalloc(&data, n * sizeof(int)));
  CHECK(hipMemset(data, 0, n * sizeof(int)));
  CHECK(hipStreamCreate(&stream));
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  add_one<<<n / 256, 256, 0, stream>>>(data, n);
  add_one<<<n / 256, 256, 0, stream>>>(data, n);
  CHECK(hipMemcpyAsync(result.data(), data, n * sizeof(int), hipMemcpyDeviceToHost, stream));
  CHECK(hipStreamEndCapture(stream, &graph));
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 3; ++i) CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  long wrong = 0;
  for (int value : result) wrong += value != 6;
  return verdict("graph", wrong);
}
