// A kernel compiled while the program runs (hiprtc).
#include <hip/hiprtc.h>

#include <string>
#include <vector>

#include "check.h"

constexpr char kSource[] = R"(
extern "C" __global__ void scale(float* data, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= factor;
})";

int main() {
  hiprtcProgram program;
  if (hiprtcCreateProgram(&program, kSource, "scale.hip", 0, nullptr, nullptr) != HIPRTC_SUCCESS) return 1;
  const char* options[] = {"--gpu-architecture=gfx1100"};
  if (hiprtcCompileProgram(program, 1, options) != HIPRTC_SUCCESS) {
    size_t bytes = 0;
    hiprtcGetProgramLogSize(program, &bytes);
    std::string log(bytes, ' ');
    hiprtcGetProgramLog(program, log.data());
    std::fprintf(stderr, "%s\n", log.c_str());
    return 1;
  }
  size_t bytes = 0;
  hiprtcGetCodeSize(program, &bytes);
  std::vector<char> code(bytes);
  hiprtcGetCode(program, code.data());
  hipModule_t module;
  hipFunction_t kernel;
  CHECK(hipModuleLoadData(&module, code.data()));
  CHECK(hipModuleGetFunction(&kernel, module, "scale"));
  int n = 1000;
  float factor = 2.5f;
  std::vector<float> data(n, 2.0f);
  float* device;
  CHECK(hipMalloc(&device, n * sizeof(float)));
  CHECK(hipMemcpy(device, data.data(), n * sizeof(float), hipMemcpyHostToDevice));
  void* arguments[] = {&device, &factor, &n};
  CHECK(hipModuleLaunchKernel(kernel, 4, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK(hipMemcpy(data.data(), device, n * sizeof(float), hipMemcpyDeviceToHost));
  long wrong = 0;
  for (float value : data) wrong += value != 5.0f;
  return verdict("runtime compiled", wrong);
}
