// Inclusive prefix sum of a work-group's elements by DPP: row shifts scan each row of 16 lanes, v_permlanex16 and lane
// reads carry the row sums on, LDS carries the wave sums on. Works for waves of 32 and 64 lanes.
#include <hip/hip_runtime.h>

constexpr int kGroup = 256;

template <int kControl>
__device__ uint add_shifted(uint value) {
  // Lanes without a source take the old value, 0: the identity of the sum.
  return value + __builtin_amdgcn_update_dpp(0, value, kControl, 0xf, 0xf, false);
}

__device__ uint scan_wave(uint value) {
  constexpr int kRowShiftRight = 0x110;
  value = add_shifted<kRowShiftRight + 1>(value);
  value = add_shifted<kRowShiftRight + 2>(value);
  value = add_shifted<kRowShiftRight + 4>(value);
  value = add_shifted<kRowShiftRight + 8>(value);
  // Each lane reads lane 15 of the neighbouring row; the odd rows add it.
  const uint neighbour = __builtin_amdgcn_permlanex16(0, value, ~0u, ~0u, true, false);
  const uint lane = __lane_id();
  if (lane & 16) value += neighbour;
  if (warpSize == 64) {
    const uint lower_half = __builtin_amdgcn_readlane(value, 31);
    if (lane & 32) value += lower_half;
  }
  return value;
}

extern "C" __global__ __launch_bounds__(kGroup) void scan_dpp(const uint* __restrict__ input, uint* __restrict__ output,
                                                              uint* __restrict__ group_sum) {
  __shared__ uint wave_sum[kGroup / 32];
  const uint i = blockIdx.x * kGroup + threadIdx.x;
  const uint wave = threadIdx.x / warpSize, lane = __lane_id();
  const uint inside = scan_wave(input[i]);
  if (lane == warpSize - 1) wave_sum[wave] = inside;
  __syncthreads();
  uint before = 0;
  for (uint w = 0; w < wave; ++w) before += wave_sum[w];
  output[i] = before + inside;
  if (threadIdx.x == kGroup - 1) group_sum[blockIdx.x] = before + inside;
}

// Second and third dispatch: the sums of up to 256 groups are scanned by one group, and added to the groups behind.
extern "C" __global__ __launch_bounds__(kGroup) void scan_dpp_carry(uint* __restrict__ output,
                                                                    const uint* __restrict__ group_sum_scanned) {
  if (blockIdx.x > 0) output[blockIdx.x * kGroup + threadIdx.x] += group_sum_scanned[blockIdx.x - 1];
}
