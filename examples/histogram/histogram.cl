// 256-bin histogram of bytes: bins in LDS by atomics, merged into global memory by atomics.
#define GROUP 256

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
__kernel void histogram(__global const uint* restrict data, __global uint* restrict bins, uint words_per_item) {
  __local uint local_bins[256];
  const uint item = get_local_id(0);
  local_bins[item] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint first = get_group_id(0) * GROUP * words_per_item + item;
  for (uint i = 0; i < words_per_item; ++i) {
    const uint word = data[first + i * GROUP];
    atomic_inc(&local_bins[word & 255]);
    atomic_inc(&local_bins[(word >> 8) & 255]);
    atomic_inc(&local_bins[(word >> 16) & 255]);
    atomic_inc(&local_bins[word >> 24]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&bins[item], local_bins[item]);
}
