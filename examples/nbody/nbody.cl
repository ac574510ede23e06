// Gravity of all bodies on each body (softened), bodies staged through LDS a work-group at a time.
// xyz is the position, w the mass; the count is a multiple of the work-group size.
#pragma OPENCL FP_CONTRACT OFF
#define GROUP 128

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
__kernel void nbody(__global const float4* restrict bodies, __global float4* restrict acceleration, uint count,
                    float softening) {
  __local float4 tile[GROUP];
  const float4 own = bodies[get_global_id(0)];
  float3 sum = (float3)(0.0f);
  for (uint first = 0; first < count; first += GROUP) {
    tile[get_local_id(0)] = bodies[first + get_local_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < GROUP; ++i) {
      const float4 other = tile[i];
      const float3 d = other.xyz - own.xyz;
      const float distance2 = fma(d.x, d.x, fma(d.y, d.y, fma(d.z, d.z, softening)));
      const float inverse = rsqrt(distance2);
      const float weight = other.w * inverse * inverse * inverse;
      sum = fma((float3)(weight), d, sum);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  acceleration[get_global_id(0)] = (float4)(sum, 0.0f);
}
