// Real recursion on the device: calls through s_swappc, frames in scratch, lanes that return at different depths.
#include <hip/hip_runtime.h>
#pragma clang fp contract(off)

// Adaptive Simpson integration of a cubic-over-quadratic-like polynomial with a sharp bump; only + - * and fma, so the
// host computes the same bits.
__device__ __noinline__ float integrand(float x, float sharpness) {
  float bump = fma(-sharpness, x * x, 1.0f);
  bump = bump < 0.0f ? 0.0f : bump;
  return fma(x, fma(x, 0.25f, -0.5f), bump * bump * bump);
}

__device__ __noinline__ float integrate(float left, float right, float f_left, float f_middle, float f_right,
                                        float whole, float sharpness, int depth, int* calls) {
  ++*calls;
  const float middle = 0.5f * (left + right), width = right - left;
  const float f_quarter = integrand(0.5f * (left + middle), sharpness);
  const float f_three_quarters = integrand(0.5f * (middle + right), sharpness);
  const float first = width * 0.0833333358f * (fma(4.0f, f_quarter, f_left) + f_middle);
  const float second = width * 0.0833333358f * (fma(4.0f, f_three_quarters, f_middle) + f_right);
  const float both = first + second, error = both - whole;
  if (depth == 0 || (error < 1e-4f && error > -1e-4f)) return both;
  const float low = integrate(left, middle, f_left, f_quarter, f_middle, first, sharpness, depth - 1, calls);
  const float high = integrate(middle, right, f_middle, f_three_quarters, f_right, second, sharpness, depth - 1, calls);
  return low + high;
}

extern "C" __global__ void recursion_integrate(const float* __restrict__ sharpness, float* __restrict__ area,
                                               int* __restrict__ calls) {
  const uint i = blockIdx.x * blockDim.x + threadIdx.x;
  const float s = sharpness[i];
  const float f_left = integrand(-2.0f, s), f_middle = integrand(0.0f, s), f_right = integrand(2.0f, s);
  int count = 0;
  area[i] = integrate(-2.0f, 2.0f, f_left, f_middle, f_right, 0.666666687f * (fma(4.0f, f_middle, f_left) + f_right), s,
                      10, &count);
  calls[i] = count;
}

// Mutual recursion through function pointers: the target differs between lanes, so calls are made in a loop over targets.
typedef uint (*Walk)(uint value, uint depth);
__device__ __noinline__ uint walk_even(uint value, uint depth);
__device__ __noinline__ uint walk_odd(uint value, uint depth);

__device__ uint walk(uint value, uint depth) {
  const Walk next = value & 1 ? walk_odd : walk_even;
  return next(value, depth);
}

__device__ __noinline__ uint walk_even(uint value, uint depth) {
  if (value <= 1 || depth == 0) return value;
  return walk(value >> 1, depth - 1) + 1;
}

__device__ __noinline__ uint walk_odd(uint value, uint depth) {
  if (value <= 1 || depth == 0) return value;
  return walk(3 * value + 1, depth - 1) + 1;
}

extern "C" __global__ void recursion_collatz(const uint* __restrict__ start, uint* __restrict__ length,
                                             uint depth) {
  const uint i = blockIdx.x * blockDim.x + threadIdx.x;
  length[i] = walk(start[i], depth);
}
