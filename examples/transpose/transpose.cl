// Matrix transpose through a 32 x 32 tile in LDS; the row of 33 words keeps column reads off one bank.
#define TILE 32
#define ROWS 8

__attribute__((reqd_work_group_size(TILE, ROWS, 1)))
__kernel void transpose(__global const uint* restrict input, __global uint* restrict output, uint width, uint height) {
  __local uint tile[TILE][TILE + 1];
  uint x = get_group_id(0) * TILE + get_local_id(0), y = get_group_id(1) * TILE + get_local_id(1);
  for (uint i = 0; i < TILE; i += ROWS)
    if (x < width && y + i < height) tile[get_local_id(1) + i][get_local_id(0)] = input[(y + i) * width + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  x = get_group_id(1) * TILE + get_local_id(0);
  y = get_group_id(0) * TILE + get_local_id(1);
  for (uint i = 0; i < TILE; i += ROWS)
    if (x < height && y + i < width) output[(y + i) * height + x] = tile[get_local_id(0)][get_local_id(1) + i];
}
