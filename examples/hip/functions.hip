// A kernel calls functions of modules that were compiled and loaded while the program runs, by their addresses; another
// one virtual functions and one that calls itself, for which the compiler cannot tell how much stack they take.
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

struct Shape {
  __device__ virtual int area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int side) : side(side) {}
  __device__ int area() const override { return side * side; }
};
struct Strip : Shape {
  int length;
  __device__ explicit Strip(int length) : length(length) {}
  __device__ int area() const override { return length * 2; }
};

__global__ void areas(int* to) {
  const int i = threadIdx.x;
  Shape* const shape = i % 2 ? static_cast<Shape*>(new Square(i)) : static_cast<Shape*>(new Strip(i));
  to[i] = shape->area();
  delete shape;
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__global__ void fibonaccis(int* to) { to[threadIdx.x] = fibonacci(threadIdx.x % 12); }

// HIP 5.7 asks for less scratch than these kernels say that they need.
long call_of_unknown_depth() {
  constexpr int kCount = 64;
  int results[kCount], first[12] = {0, 1};
  for (int i = 2; i < 12; ++i) first[i] = first[i - 1] + first[i - 2];
  int* device;
  CHECK(hipMalloc(&device, sizeof results));
  long wrong = 0;
  areas<<<1, kCount>>>(device);
  CHECK(hipMemcpy(results, device, sizeof results, hipMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) wrong += results[i] != (i % 2 ? i * i : i * 2);
  fibonaccis<<<1, kCount>>>(device);
  CHECK(hipMemcpy(results, device, sizeof results, hipMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) wrong += results[i] != first[i % 12];
  CHECK(hipFree(device));
  return wrong;
}

int main() {
  constexpr int kCount = 1000;
  long wrong = call_of_unknown_depth();
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
  return verdict("functions by their addresses", wrong);
}
