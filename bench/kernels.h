// The kernels of the benchmarks, one OpenCL C source for every engine and for PoCL.
#pragma once

namespace lockstep::bench {

inline constexpr const char* kKernels = R"(
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void saxpy(__global const float* restrict x, __global float* restrict y, float a, uint n) {
  uint i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}

__kernel __attribute__((reqd_work_group_size(32, 8, 1)))
void mandelbrot(__global uint* out, uint w, uint h, float x0, float y0, float dx, float dy, uint limit) {
  uint px = get_global_id(0), py = get_global_id(1);
  if (px >= w || py >= h) return;
  float cx = x0 + dx * (float)px, cy = y0 + dy * (float)py, zx = 0.0f, zy = 0.0f;
  uint n = 0;
  while (n < limit) {
    float zx2 = zx * zx, zy2 = zy * zy;
    if (zx2 + zy2 > 4.0f) break;
    zy = 2.0f * zx * zy + cy;
    zx = zx2 - zy2 + cx;
    ++n;
  }
  out[py * w + px] = n;
}

#define T 16
__kernel __attribute__((reqd_work_group_size(T, T, 1)))
void sgemm(__global const float* restrict a, __global const float* restrict b, __global float* restrict c, uint n,
           uint k) {
  __local float ta[T][T], tb[T][T];
  uint x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
  float sum = 0.0f;
  for (uint t = 0; t < k; t += T) {
    ta[y][x] = a[row * k + t + x];
    tb[y][x] = b[(t + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < T; ++i) sum += ta[y][i] * tb[i][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}
)";

}  // namespace lockstep::bench
