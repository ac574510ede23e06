// What the OpenCL examples share: a device with a context and a program, errors that end the program.
#pragma once

#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

inline void check(cl_int error, const char* call, int line) {
  if (error == CL_SUCCESS) return;
  std::fprintf(stderr, "line %d: %s: error %d\n", line, call, error);
  std::exit(1);
}
// Ends the program if a call of OpenCL failed.
#define CHECK(call) check((call), #call, __LINE__)
// A call that makes something, with &error as its last argument.
#define MAKE(call)                 \
  [&] {                            \
    cl_int error = CL_SUCCESS;     \
    const auto made = (call);      \
    check(error, #call, __LINE__); \
    return made;                   \
  }()

// The program's last line and exit code.
inline int verdict(const char* name, long wrong) {
  if (wrong)
    std::printf("%s: %ld results are WRONG\n", name, wrong);
  else
    std::printf("%s: all results are right\n", name);
  return wrong != 0;
}

// The first device, and a program built for it from its source.
struct Cl {
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_program program = nullptr;
  std::string name;

  explicit Cl(const char* source) {
    cl_platform_id platform;
    CHECK(clGetPlatformIDs(1, &platform, nullptr));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, nullptr));
    char text[256];
    CHECK(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof text, text, nullptr));
    name = text;
    context = MAKE(clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error));
    program = MAKE(clCreateProgramWithSource(context, 1, &source, nullptr, &error));
    if (clBuildProgram(program, 1, &device, "-cl-std=CL2.0", nullptr, nullptr) == CL_SUCCESS) return;
    std::vector<char> log(1 << 16);
    CHECK(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, log.size() - 1, log.data(), nullptr));
    std::fprintf(stderr, "%s\n", log.data());
    std::exit(1);
  }
  cl_command_queue queue(cl_command_queue_properties properties = 0) {
    const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
    return MAKE(clCreateCommandQueueWithProperties(context, device, list, &error));
  }
  cl_kernel kernel(const char* kernel_name) { return MAKE(clCreateKernel(program, kernel_name, &error)); }
  template <class Value>
  cl_mem buffer(std::vector<Value>& values, cl_mem_flags flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR) {
    return MAKE(clCreateBuffer(context, flags, values.size() * sizeof(Value), values.data(), &error));
  }
};

template <class... Values>
void set_arguments(cl_kernel kernel, const Values&... values) {
  cl_uint index = 0;
  (CHECK(clSetKernelArg(kernel, index++, sizeof values, &values)), ...);
}

template <class Value>
void read_back(cl_command_queue queue, cl_mem buffer, std::vector<Value>& values) {
  CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, values.size() * sizeof(Value), values.data(), 0,
                            nullptr, nullptr));
}
