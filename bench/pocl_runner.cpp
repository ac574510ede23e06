#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdexcept>

#include "bench/workload.h"

namespace lockstep::bench {
namespace {

void check(cl_int status, const char* what) {
  if (status != CL_SUCCESS)
    throw std::runtime_error(std::string(what) + ": OpenCL error " + std::to_string(status));
}

cl_device_id find_device() {
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return nullptr;
  std::vector<cl_platform_id> platforms(count);
  clGetPlatformIDs(count, platforms.data(), nullptr);
  for (cl_platform_id platform : platforms) {
    char name[256] = {};
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, nullptr);
    cl_device_id device;
    if (std::string(name) == "Portable Computing Language" &&
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, nullptr) == CL_SUCCESS)
      return device;
  }
  return nullptr;
}

class PoclRunner final : public Runner {
 public:
  PoclRunner(const Workload& workload, cl_device_id device, bool one_unit) : workload_(workload) {
    if (one_unit) {
      const cl_device_partition_property partition[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1,
                                                        CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
      check(clCreateSubDevices(device, partition, 1, &device, nullptr), "clCreateSubDevices");
    }
    cl_int status;
    context_ = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
    check(status, "clCreateContext");
    queue_ = clCreateCommandQueue(context_, device, 0, &status);
    check(status, "clCreateCommandQueue");
    build(device);
    kernel_ = clCreateKernel(program_, workload.kernel.c_str(), &status);
    check(status, "clCreateKernel");
    for (const auto& contents : workload.buffers) {
      buffers_.push_back(clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                        contents.size() * 4, const_cast<uint32_t*>(contents.data()),
                                        &status));
      check(status, "clCreateBuffer");
    }
    for (cl_uint i = 0; i < workload.arguments.size(); ++i) {
      const Argument& argument = workload.arguments[i];
      if (argument.buffer >= 0)
        set(i, sizeof(cl_mem), &buffers_[static_cast<size_t>(argument.buffer)]);
      else if (argument.local_bytes != 0)
        set(i, argument.local_bytes, nullptr);
      else
        set(i, argument.value.size(), argument.value.data());
    }
  }

  ~PoclRunner() override {
    for (cl_mem buffer : buffers_) clReleaseMemObject(buffer);
    clReleaseKernel(kernel_);
    clReleaseProgram(program_);
    clReleaseCommandQueue(queue_);
    clReleaseContext(context_);
  }

  void run() override {
    size_t grid[3], group[3];
    for (unsigned axis = 0; axis < 3; ++axis) {
      grid[axis] = workload_.grid[axis];
      group[axis] = workload_.group[axis];
    }
    for (unsigned i = 0; i < workload_.dispatches; ++i) {
      check(clEnqueueNDRangeKernel(queue_, kernel_, workload_.dimensions, nullptr, grid, group, 0, nullptr,
                                   nullptr),
            "clEnqueueNDRangeKernel");
      check(clFinish(queue_), "clFinish");
    }
  }

  Words result() override {
    const auto number = static_cast<size_t>(workload_.result);
    Words contents(workload_.buffers[number].size());
    check(clEnqueueReadBuffer(queue_, buffers_[number], CL_TRUE, 0, contents.size() * 4, contents.data(), 0,
                              nullptr, nullptr),
          "clEnqueueReadBuffer");
    return contents;
  }

 private:
  void build(cl_device_id device) {
    const char* source = workload_.source.c_str();
    cl_int status;
    program_ = clCreateProgramWithSource(context_, 1, &source, nullptr, &status);
    check(status, "clCreateProgramWithSource");
    std::string options;
    for (const std::string& option : workload_.options) {
      // It splits them there, whatever quotes there are.
      if (option.find(' ') != std::string::npos)
        throw std::runtime_error("PoCL takes no option with a blank: " + option);
      options += (options.empty() ? "" : " ") + option;
    }
    status = clBuildProgram(program_, 1, &device, options.c_str(), nullptr, nullptr);
    if (status == CL_SUCCESS) return;
    size_t length = 0;
    clGetProgramBuildInfo(program_, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &length);
    std::string log(length, '\0');
    clGetProgramBuildInfo(program_, device, CL_PROGRAM_BUILD_LOG, length, log.data(), nullptr);
    throw std::runtime_error("PoCL cannot compile it: " + log);
  }
  void set(cl_uint number, size_t bytes, const void* value) {
    check(clSetKernelArg(kernel_, number, bytes, value), "clSetKernelArg");
  }

  const Workload& workload_;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  cl_kernel kernel_ = nullptr;
  std::vector<cl_mem> buffers_;
};

}  // namespace

std::unique_ptr<Runner> pocl_runner(const Workload& workload, bool one_unit) {
  static const cl_device_id device = find_device();
  return device ? std::make_unique<PoclRunner>(workload, device, one_unit) : nullptr;
}

}  // namespace lockstep::bench
