// C = A * B for row-major matrices: a work-group of 16 x 16 items computes a 64 x 64 tile of C, each item a 4 x 4 block
// in registers. A is stored transposed in LDS so that both inner loads are 128 bits wide.
// M and N are multiples of 64, K of 16.
#define TILE 64
#define DEPTH 16

__attribute__((reqd_work_group_size(16, 16, 1)))
__kernel void sgemm_blocked(__global const float* restrict a, __global const float* restrict b,
                            __global float* restrict c, uint n, uint k) {
  __local float4 tile_a[DEPTH][TILE / 4];
  __local float4 tile_b[DEPTH][TILE / 4];
  __local float* const scalar_a = (__local float*)tile_a;
  __local float* const scalar_b = (__local float*)tile_b;
  const uint x = get_local_id(0), y = get_local_id(1), item = y * 16 + x;
  const uint first_row = get_group_id(1) * TILE, first_column = get_group_id(0) * TILE;
  float4 sum[4];
  for (int i = 0; i < 4; ++i) sum[i] = (float4)(0.0f);
  for (uint first = 0; first < k; first += DEPTH) {
    for (uint part = 0; part < 4; ++part) {
      const uint e = item + part * 256;
      scalar_a[(e & 15) * TILE + (e >> 4)] = a[(first_row + (e >> 4)) * k + first + (e & 15)];
      scalar_b[(e >> 6) * TILE + (e & 63)] = b[(first + (e >> 6)) * n + first_column + (e & 63)];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < DEPTH; ++i) {
      const float4 left = tile_a[i][y], right = tile_b[i][x];
      sum[0] = fma((float4)(left.x), right, sum[0]);
      sum[1] = fma((float4)(left.y), right, sum[1]);
      sum[2] = fma((float4)(left.z), right, sum[2]);
      sum[3] = fma((float4)(left.w), right, sum[3]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (uint i = 0; i < 4; ++i)
    *(__global float4*)(c + (first_row + y * 4 + i) * n + first_column + x * 4) = sum[i];
}
