// Adds two vectors, with a device's message for the first work-item of each group.
#include "check.h"

constexpr const char* kSource = R"(
kernel void add(global const float* a, global const float* b, global float* sum, uint n) {
  const uint i = get_global_id(0);
  if (i < n) sum[i] = a[i] + b[i];
  if (get_local_id(0) == 0 && get_group_id(0) < 3) printf("group %u of %u\n", (uint)get_group_id(0), (uint)get_num_groups(0));
}
)";

int main() {
  Cl cl(kSource);
  std::printf("%s\n", cl.name.c_str());
  constexpr cl_uint n = 50'000;
  std::vector<float> a(n), b(n), sum(n);
  for (cl_uint i = 0; i < n; ++i) a[i] = i, b[i] = 0.5f * i;
  const cl_mem da = cl.buffer(a), db = cl.buffer(b), dsum = cl.buffer(sum);
  const cl_command_queue queue = cl.queue();
  const cl_kernel add = cl.kernel("add");
  set_arguments(add, da, db, dsum, n);
  const size_t group = 256, grid = (n + group - 1) / group * group;
  CHECK(clEnqueueNDRangeKernel(queue, add, 1, nullptr, &grid, &group, 0, nullptr, nullptr));
  read_back(queue, dsum, sum);
  CHECK(clFinish(queue));
  long wrong = 0;
  for (cl_uint i = 0; i < n; ++i) wrong += sum[i] != 1.5f * i;
  return verdict("vector add", wrong);
}
