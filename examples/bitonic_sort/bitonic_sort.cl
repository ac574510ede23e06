// Sorts blocks of 512 key-value pairs in LDS, ascending by key and then by value, as a bitonic network.
#define GROUP 256
#define BLOCK 512

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
__kernel void bitonic_sort(__global uint2* restrict pairs) {
  __local uint2 block[BLOCK];
  const uint item = get_local_id(0);
  const size_t base = get_group_id(0) * (size_t)BLOCK;
  block[item] = pairs[base + item];
  block[item + GROUP] = pairs[base + item + GROUP];
  for (uint size = 2; size <= BLOCK; size *= 2) {
    for (uint stride = size / 2; stride > 0; stride /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      const uint low = 2 * item - (item & (stride - 1)), high = low + stride;
      const bool ascending = (low & size) == 0;
      const uint2 a = block[low], b = block[high];
      const bool greater = a.x > b.x || (a.x == b.x && a.y > b.y);
      if (greater == ascending) {
        block[low] = b;
        block[high] = a;
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  pairs[base + item] = block[item];
  pairs[base + item + GROUP] = block[item + GROUP];
}
