// Sum of an array in two dispatches of the same kernel: each work-group folds its share in LDS (a tree), the second
// dispatch folds the partial sums. The order of additions is fixed, so the float result is reproducible to the bit.
// The second kernel folds integers and lets the groups meet in one global atomic.
#define GROUP 256

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
__kernel void reduce_sum(__global const float* restrict input, __global float* restrict partial, uint count) {
  __local float fold[GROUP];
  const uint item = get_local_id(0);
  float sum = 0.0f;
  for (uint i = get_global_id(0); i < count; i += get_global_size(0)) sum += input[i];
  fold[item] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = GROUP / 2; half_size > 0; half_size >>= 1) {
    if (item < half_size) fold[item] += fold[item + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (item == 0) partial[get_group_id(0)] = fold[0];
}

struct extremes {
  int minimum;
  int maximum;
  uint sum;
  uint count_of_negative;
};

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
__kernel void reduce_integers(__global const int* restrict input, __global struct extremes* restrict result, uint count) {
  __local struct extremes fold;
  if (get_local_id(0) == 0) fold = (struct extremes){INT_MAX, INT_MIN, 0, 0};
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = get_global_id(0); i < count; i += get_global_size(0)) {
    const int value = input[i];
    atomic_min(&fold.minimum, value);
    atomic_max(&fold.maximum, value);
    atomic_add(&fold.sum, (uint)value);
    if (value < 0) atomic_inc(&fold.count_of_negative);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) {
    atomic_min(&result->minimum, fold.minimum);
    atomic_max(&result->maximum, fold.maximum);
    atomic_add(&result->sum, fold.sum);
    atomic_add(&result->count_of_negative, fold.count_of_negative);
  }
}
