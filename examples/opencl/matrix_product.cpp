// Multiplies matrices by tiles in local memory.
#include "check.h"

constexpr const char* kSource = R"(
#define TILE 16
#ifndef LOCAL_FENCE
#define LOCAL_FENCE 1  // CLK_LOCAL_MEM_FENCE: Debian 14's compiler reads it from a header that is no part of the runtime
#endif
kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void multiply(global const float* a, global const float* b, global float* c, uint n) {
  local float tile_a[TILE][TILE], tile_b[TILE][TILE];
  const uint x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (uint t = 0; t < n; t += TILE) {
    tile_a[y][x] = a[row * n + t + x];
    tile_b[y][x] = b[(t + y) * n + column];
    barrier(LOCAL_FENCE);
    for (uint i = 0; i < TILE; ++i) sum += tile_a[y][i] * tile_b[i][x];
    barrier(LOCAL_FENCE);
  }
  c[row * n + column] = sum;
}
)";

int main() {
  Cl cl(kSource);
  constexpr cl_uint n = 96;
  std::vector<float> a(n * n), b(n * n), c(n * n);
  // Small whole numbers: every order of additions gives the same sum.
  for (cl_uint i = 0; i < n * n; ++i) a[i] = int(i % 7) - 3, b[i] = int(i % 5) - 2;
  const cl_mem da = cl.buffer(a), db = cl.buffer(b), dc = cl.buffer(c);
  const cl_command_queue queue = cl.queue();
  const cl_kernel multiply = cl.kernel("multiply");
  set_arguments(multiply, da, db, dc, n);
  const size_t grid[] = {n, n}, group[] = {16, 16};
  CHECK(clEnqueueNDRangeKernel(queue, multiply, 2, nullptr, grid, group, 0, nullptr, nullptr));
  read_back(queue, dc, c);
  long wrong = 0;
  for (cl_uint row = 0; row < n; ++row)
    for (cl_uint column = 0; column < n; ++column) {
      float sum = 0;
      for (cl_uint i = 0; i < n; ++i) sum += a[row * n + i] * b[i * n + column];
      wrong += sum != c[row * n + column];
    }
  return verdict("matrix product", wrong);
}
