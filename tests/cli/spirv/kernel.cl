// kernel.spvasm is this, by clang 15 for spir64 at -O1 without passes, llvm-spirv and spirv-dis. It has a pointer into
// each address space, a structure as argument, functions of the library that take pointers, and a call of printf.
typedef struct { float a; int b; } P;
__constant float table[4] = {1, 2, 3, 4};
float helper(const float* p, __global float* out) { float f; float r = fract(*p, &f); return r + f; }
__kernel void k(__global float* x, __local float* tmp, __constant int* c, P p, float4 v) {
  const int i = get_global_id(0);
  __local int sum[4];
  float a[4];
  for (int j = 0; j < 4; ++j) a[j] = x[i] * j + table[(i + j) & 3];
  tmp[get_local_id(0)] = a[c[0] & 3] + p.a * p.b + v.y;
  sum[i & 3] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  x[i] = tmp[get_local_size(0) - 1 - get_local_id(0)] + sin(a[1]) + helper(&a[2], x) + sum[0] % 4;
  if (i == 3) {
    atomic_add((__global int*)x + 100, i);
    printf("%d %f\n", i, x[i]);
  }
}
