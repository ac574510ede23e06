// C = A * B for row-major matrices, one 16 x 16 tile of C a work-group; tiles of A and B are staged in LDS.
// M, N and K are multiples of 16.
#define TILE 16

__attribute__((reqd_work_group_size(TILE, TILE, 1)))
__kernel void sgemm_tiled(__global const float* restrict a, __global const float* restrict b,
                          __global float* restrict c, uint n, uint k) {
  __local float tile_a[TILE][TILE];
  __local float tile_b[TILE][TILE];
  const uint x = get_local_id(0), y = get_local_id(1);
  const uint column = get_global_id(0), row = get_global_id(1);
  float sum = 0.0f;
  for (uint first = 0; first < k; first += TILE) {
    tile_a[y][x] = a[row * k + first + x];
    tile_b[y][x] = b[(first + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < TILE; ++i) sum = fma(tile_a[y][i], tile_b[i][x], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}
