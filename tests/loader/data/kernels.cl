// Compiled as code objects v4, v5 and v6 for the loader's tests; needs no device library.
typedef struct {
  int first;
  float second;
} pair;

__global int counter = 7;
__constant int table[4] = {1, 2, 3, 4};

__attribute__((noinline)) float scale(float x, float y) { return x * y + 1.0f; }

__kernel __attribute__((reqd_work_group_size(64, 2, 1))) void scaled(__global const float* restrict in,
                                                                     __global float* out, float factor,
                                                                     uint count, pair both) {
  uint i = __builtin_amdgcn_workitem_id_x() + __builtin_amdgcn_workgroup_id_x() * 64;
  if (i < count) out[i] = scale(in[i], factor) + both.second * table[i & 3];
}

__kernel void local_sum(__global int* out, __local int* scratch, short small, char tiny, long large) {
  __local int fixed[100];
  uint i = __builtin_amdgcn_workitem_id_x();
  fixed[i % 100] = small;
  scratch[i] = tiny;
  __builtin_amdgcn_s_barrier();
  out[i] = fixed[99 - i % 100] + scratch[i ^ 1] + large + counter;
}

__kernel void sizes(__global uint* out) {
  __constant uint* hidden = (__constant uint*)__builtin_amdgcn_implicitarg_ptr();
  out[__builtin_amdgcn_workitem_id_x()] = hidden[0] + __builtin_amdgcn_workgroup_size_y();
}
