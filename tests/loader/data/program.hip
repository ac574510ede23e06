// Compiled as a host library with a .hip_fatbin section; needs no HIP package.
#define __global__ __attribute__((global))
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))

struct dim3 {
  unsigned x, y, z;
};
using hipStream_t = void*;
using hipError_t = int;
extern "C" hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, unsigned long shared, hipStream_t stream);
extern "C" hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, unsigned long* shared, hipStream_t* stream);
extern "C" hipError_t hipLaunchKernel(const void* f, dim3 grid, dim3 block, void** arguments, unsigned long shared,
                                      hipStream_t stream);

#ifndef NAME
#define NAME first_kernel
#endif
extern "C" __global__ void NAME(int* out, int value) { out[__builtin_amdgcn_workitem_id_x()] = value; }
