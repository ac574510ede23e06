// A kernel calls functions of modules that were compiled and loaded while the program runs, by their addresses.
#include <hip/hiprtc.h>

#include <string>
#include <vector>

#include "check.h"

using Function = float (*)(float);

__global__ void apply(Function function, float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = function(data[i]);
}

// A module with `function`, whose address is in `pointer`.
hipModule_t compile(const std::string& expression) {
  const std::string source =
      "__device__ float function(float x) { return " + expression +
      "; }\nextern \"C\" {\n__device__ float (*pointer)(float) = function;\n}\n";
  hiprtcProgram program;
  const char* options[] = {"--gpu-architecture=gfx1100"};
  if (hiprtcCreateProgram(&program, source.c_str(), "function.hip", 0, nullptr, nullptr) != HIPRTC_SUCCESS ||
      hiprtcCompileProgram(program, 1, options) != HIPRTC_SUCCESS) {
    size_t bytes = 0;
    hiprtcGetProgramLogSize(program, &bytes);
    std::string log(bytes, ' ');
    hiprtcGetProgramLog(program, log.data());
    std::fprintf(stderr, "%s\n", log.c_str());
    std::exit(1);
  }
  size_t bytes = 0;
  hiprtcGetCodeSize(program, &bytes);
  std::vector<char> code(bytes);
  hiprtcGetCode(program, code.data());
  hiprtcDestroyProgram(&program);
  hipModule_t module;
  CHECK(hipModuleLoadData(&module, code.data()));
  return module;
}

int main() {
  constexpr int kCount = 1000;
  long wrong = 0;
  float* device;
  CHECK(hipMalloc(&device, kCount * sizeof(float)));
  // The second module may come to lie where the first one was.
  for (int round = 1; round <= 3; ++round) {
    const hipModule_t module = compile("x * " + std::to_string(round) + " + 0.5f");
    hipDeviceptr_t pointer;
    size_t bytes = 0;
    Function function;
    CHECK(hipModuleGetGlobal(&pointer, &bytes, module, "pointer"));
    CHECK(hipMemcpyDtoH(&function, pointer, sizeof function));
    std::vector<float> data(kCount);
    for (int i = 0; i < kCount; ++i) data[i] = static_cast<float>(i);
    CHECK(hipMemcpy(device, data.data(), kCount * sizeof(float), hipMemcpyHostToDevice));
    apply<<<4, 256>>>(function, device, kCount);
    CHECK(hipMemcpy(data.data(), device, kCount * sizeof(float), hipMemcpyDeviceToHost));
    for (int i = 0; i < kCount; ++i) wrong += data[i] != static_cast<float>(i * round) + 0.5f;
    CHECK(hipModuleUnload(module));
  }
  CHECK(hipFree(device));
  return verdict("functions of other modules", wrong);
}
