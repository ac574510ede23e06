// Shared virtual memory: a list that the host has linked by pointers and the device follows; then atomics on
// a fine-grained counter, where the device offers that.
#include "check.h"

constexpr const char* kSource = R"(
typedef struct Node { global struct Node* next; int value; } Node;
kernel void add_up(global const Node* first, global int* sum) {
  int total = 0;
  for (global const Node* node = first; node; node = node->next) total += node->value;
  *sum = total;
}
kernel void count(global atomic_int* counter) {
  atomic_fetch_add_explicit(counter, 1, memory_order_relaxed, memory_scope_all_svm_devices);
}
)";

struct Node {
  Node* next;
  cl_int value;
};

int main() {
  Cl cl(kSource);
  cl_device_svm_capabilities offers = 0;
  CHECK(clGetDeviceInfo(cl.device, CL_DEVICE_SVM_CAPABILITIES, sizeof offers, &offers, nullptr));
  std::printf("offers:%s%s%s%s\n", offers & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER ? " coarse-grain buffers" : "",
              offers & CL_DEVICE_SVM_FINE_GRAIN_BUFFER ? ", fine-grain buffers" : "",
              offers & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM ? ", fine-grain system" : "",
              offers & CL_DEVICE_SVM_ATOMICS ? ", atomics" : "");
  constexpr int n = 1000;
  const cl_command_queue queue = cl.queue();
  auto* const nodes = static_cast<Node*>(clSVMAlloc(cl.context, CL_MEM_READ_WRITE, n * sizeof(Node), 0));
  auto* const sum = static_cast<cl_int*>(clSVMAlloc(cl.context, CL_MEM_READ_WRITE, sizeof(cl_int), 0));
  if (!nodes || !sum) return verdict("memory that is shared", 1);
  CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, nodes, n * sizeof(Node), 0, nullptr, nullptr));
  for (int i = 0; i < n; ++i) nodes[i] = {i + 1 < n ? &nodes[i + 1] : nullptr, i};
  CHECK(clEnqueueSVMUnmap(queue, nodes, 0, nullptr, nullptr));
  const cl_kernel add_up = cl.kernel("add_up");
  CHECK(clSetKernelArgSVMPointer(add_up, 0, nodes));
  CHECK(clSetKernelArgSVMPointer(add_up, 1, sum));
  const size_t one = 1;
  CHECK(clEnqueueNDRangeKernel(queue, add_up, 1, nullptr, &one, nullptr, 0, nullptr, nullptr));
  CHECK(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, sum, sizeof(cl_int), 0, nullptr, nullptr));
  long wrong = *sum != n * (n - 1) / 2;
  CHECK(clEnqueueSVMUnmap(queue, sum, 0, nullptr, nullptr));

  if (offers & CL_DEVICE_SVM_FINE_GRAIN_BUFFER && offers & CL_DEVICE_SVM_ATOMICS) {
    auto* const counter = static_cast<cl_int*>(
        clSVMAlloc(cl.context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS,
                   sizeof(cl_int), 0));
    if (!counter) return verdict("memory that is shared", 1);
    *counter = 0;  // no map: it is the host's as well
    const cl_kernel count = cl.kernel("count");
    CHECK(clSetKernelArgSVMPointer(count, 0, counter));
    const size_t items = 4096;
    CHECK(clEnqueueNDRangeKernel(queue, count, 1, nullptr, &items, nullptr, 0, nullptr, nullptr));
    CHECK(clFinish(queue));
    wrong += *counter != 4096;
    clSVMFree(cl.context, counter);
  }
  // Neither that nor the program's end waits for the last command, which has the memory still to unmap.
  CHECK(clFinish(queue));
  clSVMFree(cl.context, nodes);
  clSVMFree(cl.context, sum);
  return verdict("memory that is shared", wrong);
}
