// Work-groups that meet: atomics on one word, a spin lock, and a sum whose last work-group to arrive folds the others'.
// All of it depends on every resident work-group making progress.
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#define GROUP 64

// counters: 0 add, 1 sub, 2 min, 3 max, 4 and, 5 or, 6 xor, 7 inc, 8 wrap-around increment done by compare and swap.
// Nothing here may depend on the order of arrival.
__kernel void count(__global const uint* restrict input, __global uint* counters, __global ulong* wide,
                    __global uint* ticket_taken) {
  const uint value = input[get_global_id(0)];
  atomic_add(&counters[0], value);
  atomic_sub(&counters[1], value);
  atomic_min(&counters[2], value);
  atomic_max(&counters[3], value);
  atomic_and(&counters[4], value | 0xffffff00u);
  atomic_or(&counters[5], value & 0x00ff00ffu);
  atomic_xor(&counters[6], value);
  const uint ticket = atomic_inc(&counters[7]);
  ticket_taken[ticket] += 1;  // each ticket is handed out once
  uint seen = counters[8], next;
  do {
    next = (seen * 5 + 1) % 4093;
    const uint old = atomic_cmpxchg(&counters[8], seen, next);
    if (old == seen) break;
    seen = old;
  } while (true);
  atom_add(&wide[0], (ulong)value << 20);
  atom_max(&wide[1], (ulong)value << 31);
  atom_xor(&wide[2], (ulong)value * 0x9E3779B97F4A7C15UL);
}

// A lock that one item of each work-group takes: what it guards is changed without atomics.
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
__kernel void locked(volatile __global atomic_uint* lock, volatile __global uint* guarded, uint rounds) {
  if (get_local_id(0) != 0) return;
  for (uint round = 0; round < rounds; ++round) {
    uint expected = 0;
    while (!atomic_compare_exchange_strong_explicit(lock, &expected, 1u, memory_order_acquire, memory_order_relaxed,
                                                    memory_scope_device))
      expected = 0;
    guarded[0] += 1;
    guarded[1] = guarded[1] * 3 + 7;
    atomic_store_explicit(lock, 0u, memory_order_release, memory_scope_device);
  }
}

// Sum in one dispatch: each work-group publishes its part and counts itself; who comes last adds the parts up.
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
__kernel void sum_last(__global const uint* restrict input, volatile __global uint* parts, volatile __global atomic_uint* arrived,
                       __global uint* restrict result) {
  __local uint fold[GROUP];
  __local bool is_last;
  const uint item = get_local_id(0);
  fold[item] = input[get_global_id(0)];
  for (uint size = GROUP / 2; size > 0; size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < size) fold[item] += fold[item + size];
  }
  if (item == 0) {
    parts[get_group_id(0)] = fold[0];
    const uint before = atomic_fetch_add_explicit(arrived, 1u, memory_order_acq_rel, memory_scope_device);
    is_last = before == get_num_groups(0) - 1;
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (!is_last) return;
  uint sum = 0;
  for (uint i = item; i < get_num_groups(0); i += GROUP) sum += parts[i];
  fold[item] = sum;
  for (uint size = GROUP / 2; size > 0; size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < size) fold[item] += fold[item + size];
  }
  if (item == 0) *result = fold[0];
}
