// Inclusive prefix sum of a work-group's elements with OpenCL's sub-group functions: scan in the wave, scan of the wave
// sums by the first wave, carry added. Sub-group functions compile to DPP and lane reads.
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#define GROUP 256

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
__kernel void scan_subgroup(__global const uint* restrict input, __global uint* restrict output,
                            __global uint* restrict maximum) {
  __local uint wave_sum[GROUP / 32];
  const uint wave = get_sub_group_id(), lane = get_sub_group_local_id();
  const uint value = input[get_global_id(0)];
  const uint inside = sub_group_scan_inclusive_add(value);
  const uint total = sub_group_broadcast(inside, get_sub_group_size() - 1);
  if (lane == 0) wave_sum[wave] = total;
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint waves = get_num_sub_groups();
  const uint sums = lane < waves ? wave_sum[lane] : 0;
  const uint before = sub_group_broadcast(sub_group_scan_exclusive_add(sums), wave);
  output[get_global_id(0)] = before + inside;
  // Each item stores it: were only lane 0 to use it, LLVM 19 would sink v_permlanex16 to where the other lanes are off.
  maximum[get_global_id(0)] = sub_group_reduce_max(value);
}
