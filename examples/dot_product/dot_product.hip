// The packed dot products of gfx11, one output word an instruction and work-item.
#include <hip/hip_runtime.h>

typedef _Float16 Half2 __attribute__((ext_vector_type(2)));

extern "C" __global__ void dot_integers(const int* __restrict__ a, const int* __restrict__ b, int* __restrict__ out,
                                        int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int x = a[i], y = b[i], sum = x ^ y;
  out[0 * count + i] = __builtin_amdgcn_sudot4(true, x, true, y, sum, false);
  out[1 * count + i] = __builtin_amdgcn_sudot4(false, x, true, y, sum, true);  // clamp
  out[2 * count + i] = (int)__builtin_amdgcn_udot4(x, y, sum, false);
  out[3 * count + i] = __builtin_amdgcn_sudot8(true, x, true, y, sum, false);
  out[4 * count + i] = __builtin_amdgcn_sudot8(true, x, false, y, sum, true);
  out[5 * count + i] = (int)__builtin_amdgcn_udot8(x, y, sum, true);
  out[6 * count + i] = (int)__builtin_amdgcn_perm(x, y, 0x0c010700u + (threadIdx.x & 3));
  out[7 * count + i] = (int)__builtin_amdgcn_msad_u8(x, y, sum);
}

// Positive numbers whose sums are exact: on mixed signs gfx11's adder is off by a unit.
extern "C" __global__ void dot_halves(const Half2* __restrict__ a, const Half2* __restrict__ b, float* __restrict__ out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = __builtin_amdgcn_fdot2(a[i], b[i], (float)a[i].x, false);
}
