// Two queues whose commands wait for each other's events, a user event that holds them back, and their times.
#include "check.h"

constexpr const char* kSource = R"(
kernel void fill(global int* data, int value) { data[get_global_id(0)] = value + get_global_id(0); }
kernel void twice(global int* data) { data[get_global_id(0)] *= 2; }
kernel void sum(global const int* a, global const int* b, global int* result) {
  const uint i = get_global_id(0);
  result[i] = a[i] + b[i];
}
)";

int main() {
  Cl cl(kSource);
  constexpr size_t n = 1 << 14;
  std::vector<int> zero(n), result(n);
  const cl_mem a = cl.buffer(zero), b = cl.buffer(zero), c = cl.buffer(zero);
  const cl_command_queue one = cl.queue(CL_QUEUE_PROFILING_ENABLE), two = cl.queue(CL_QUEUE_PROFILING_ENABLE);
  const cl_kernel fill_a = cl.kernel("fill"), fill_b = cl.kernel("fill"), twice = cl.kernel("twice"),
                  sum = cl.kernel("sum");
  set_arguments(fill_a, a, cl_int{3});
  set_arguments(fill_b, b, cl_int{5});
  set_arguments(twice, b);
  set_arguments(sum, a, b, c);
  const cl_event gate = MAKE(clCreateUserEvent(cl.context, &error));
  cl_event filled_a, filled_b, doubled, done, read;
  CHECK(clEnqueueNDRangeKernel(one, fill_a, 1, nullptr, &n, nullptr, 1, &gate, &filled_a));
  CHECK(clEnqueueNDRangeKernel(two, fill_b, 1, nullptr, &n, nullptr, 0, nullptr, &filled_b));
  CHECK(clEnqueueNDRangeKernel(two, twice, 1, nullptr, &n, nullptr, 1, &filled_b, &doubled));
  const cl_event both[] = {filled_a, doubled};
  CHECK(clEnqueueNDRangeKernel(two, sum, 1, nullptr, &n, nullptr, 2, both, &done));
  CHECK(clEnqueueReadBuffer(one, c, CL_FALSE, 0, n * sizeof(int), result.data(), 1, &done, &read));
  CHECK(clFlush(one));
  CHECK(clFlush(two));
  cl_int status;
  CHECK(clGetEventInfo(filled_a, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr));
  long wrong = status == CL_COMPLETE;  // nobody has opened the gate
  CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
  CHECK(clWaitForEvents(1, &read));
  for (size_t i = 0; i < n; ++i) wrong += result[i] != int(3 + i + 2 * (5 + i));

  cl_ulong times[4];
  const auto time = [&](cl_event event, cl_profiling_info which) {
    cl_ulong value = 0;
    CHECK(clGetEventProfilingInfo(event, which, sizeof value, &value, nullptr));
    return value;
  };
  times[0] = time(doubled, CL_PROFILING_COMMAND_START);
  times[1] = time(doubled, CL_PROFILING_COMMAND_END);
  times[2] = time(done, CL_PROFILING_COMMAND_START);
  times[3] = time(done, CL_PROFILING_COMMAND_END);
  for (int i = 0; i < 3; ++i) wrong += times[i] > times[i + 1];
  return verdict("events", wrong);
}
