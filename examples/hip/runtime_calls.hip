// Calls of HIP's runtime that few programs make: fills and copies of all shapes, advice, streams that wait
// for values, launches with events, modules that come and go, graphs that are changed, peers, and a reset
// while a kernel runs.
#include <hip/hip_ext.h>
#include <hip/hiprtc.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace {

constexpr unsigned kItems = 4096, kBytes = kItems * 4;
constexpr unsigned long long kMillisecond = 100'000;  // of wall_clock64()

long wrong = 0;

void expect(bool holds, const char* what, int line) {
  if (holds) return;
  ++wrong;
  std::printf("line %d: not so: %s\n", line, what);
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)
// An error that is wanted, which is not to be found by the next call that asks for the last one.
void expect_error(hipError_t error, hipError_t wanted, const char* what, int line) {
  expect(error == wanted, what, line);
  (void)hipGetLastError();
}
#define EXPECT_ERROR(call, wanted) expect_error((call), (wanted), #call, __LINE__)

__global__ void fill(unsigned* to, unsigned first, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = first + i;
}
__global__ void increment(unsigned* values, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) ++values[i];
}
__global__ void last(long long ticks) {
  const long long begin = wall_clock64();
  while (wall_clock64() - begin < ticks) __builtin_amdgcn_s_sleep(1);
}
__global__ void count(unsigned* counter) {
  atomicAdd(counter, 1);
}

unsigned at(const unsigned* device, unsigned index) {
  unsigned value = 0;
  CHECK(hipMemcpy(&value, device + index, 4, hipMemcpyDeviceToHost));
  return value;
}

void shapes() {
  constexpr size_t kWidth = 100, kHeight = 7, kDepth = 3;
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  std::vector<unsigned char> rows(kWidth * kHeight), back(kWidth * kHeight);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<unsigned char>(i * 7);
  void *plane, *wide;
  size_t pitch, wide_pitch;
  CHECK(hipMallocPitch(&plane, &pitch, kWidth, kHeight));
  CHECK(hipMallocPitch(&wide, &wide_pitch, 2 * kWidth, kHeight));
  CHECK(hipMemcpy2DAsync(plane, pitch, rows.data(), kWidth, kWidth, kHeight, hipMemcpyHostToDevice, stream));
  CHECK(hipMemset2DAsync(wide, wide_pitch, 0xee, 2 * kWidth, kHeight, stream));
  char* const inside = static_cast<char*>(wide) + 13;  // not aligned
  CHECK(hipMemcpy2DAsync(inside, wide_pitch, plane, pitch, kWidth, kHeight, hipMemcpyDeviceToDevice, stream));
  CHECK(hipMemcpy2DAsync(back.data(), kWidth, inside, wide_pitch, kWidth, kHeight, hipMemcpyDeviceToHost,
                         stream));
  CHECK(hipStreamSynchronize(stream));
  EXPECT(back == rows);
  unsigned char beside[2] = {};
  CHECK(hipMemcpy(&beside[0], inside - 1, 1, hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(&beside[1], inside + kWidth, 1, hipMemcpyDeviceToHost));
  EXPECT(beside[0] == 0xee && beside[1] == 0xee);
  EXPECT_ERROR(hipMemcpy2D(plane, 10, rows.data(), kWidth, kWidth, kHeight, hipMemcpyHostToDevice),
               hipErrorInvalidPitchValue);

  // Fills of all widths, one upon the other.
  CHECK(hipMemsetD8(plane, 1, kWidth));
  CHECK(hipMemsetD16Async(plane, 0x1234, 20, stream));
  CHECK(hipMemsetD32Async(static_cast<char*>(plane) + 64, 0x01020304, 5, stream));
  CHECK(hipMemsetAsync(static_cast<char*>(plane) + 3, 9, 5, stream));
  unsigned char line[kWidth];
  CHECK(hipMemcpyAsync(line, plane, kWidth, hipMemcpyDeviceToHost, stream));
  CHECK(hipStreamSynchronize(stream));
  EXPECT(line[0] == 0x34 && line[1] == 0x12 && line[3] == 9 && line[7] == 9 && line[8] == 0x34 &&
         line[39] == 0x12);
  EXPECT(line[40] == 1 && line[64] == 4 && line[67] == 1 && line[80] == 4 && line[84] == 1);

  const hipExtent extent = make_hipExtent(kWidth, kHeight, kDepth);
  hipPitchedPtr volume;
  CHECK(hipMalloc3D(&volume, extent));
  CHECK(hipMemset3DAsync(volume, 0x5a, extent, stream));
  std::vector<unsigned char> cube(kWidth * kHeight * kDepth), result(cube.size());
  for (size_t i = 0; i < cube.size(); ++i) cube[i] = static_cast<unsigned char>(i * 11);
  hipMemcpy3DParms part = {};
  part.srcPtr = make_hipPitchedPtr(cube.data(), kWidth, kWidth, kHeight);
  part.srcPos = make_hipPos(7, 1, 1);
  part.dstPtr = volume;
  part.dstPos = make_hipPos(20, 2, 0);
  part.extent = make_hipExtent(50, 5, 2);
  part.kind = hipMemcpyHostToDevice;
  CHECK(hipMemcpy3DAsync(&part, stream));
  hipMemcpy3DParms all = {};
  all.srcPtr = volume;
  all.dstPtr = make_hipPitchedPtr(result.data(), kWidth, kWidth, kHeight);
  all.extent = extent;
  all.kind = hipMemcpyDeviceToHost;
  CHECK(hipMemcpy3DAsync(&all, stream));
  CHECK(hipStreamSynchronize(stream));
  long different = 0;
  for (size_t z = 0; z < kDepth; ++z)
    for (size_t y = 0; y < kHeight; ++y)
      for (size_t x = 0; x < kWidth; ++x) {
        const bool in = x >= 20 && x < 70 && y >= 2 && z < 2;
        const unsigned char value = in ? cube[((z + 1) * kHeight + y - 1) * kWidth + x - 13] : 0x5a;
        different += result[(z * kHeight + y) * kWidth + x] != value;
      }
  EXPECT(different == 0);
  CHECK(hipFree(plane));
  CHECK(hipFree(wide));
  CHECK(hipFree(volume.ptr));
  CHECK(hipStreamDestroy(stream));
}

void advice() {
  unsigned* memory;
  CHECK(hipMallocManaged(&memory, kBytes));
  CHECK(hipMemAdvise(memory, kBytes, hipMemAdviseSetReadMostly, 0));
  CHECK(hipMemAdvise(memory, kBytes, hipMemAdviseSetPreferredLocation, 0));
  CHECK(hipMemAdvise(memory, kBytes, hipMemAdviseSetAccessedBy, 0));
  int read_mostly = -1, location = -1;
  CHECK(hipMemRangeGetAttribute(&read_mostly, 4, hipMemRangeAttributeReadMostly, memory, kBytes));
  CHECK(hipMemRangeGetAttribute(&location, 4, hipMemRangeAttributePreferredLocation, memory, kBytes));
  EXPECT(read_mostly == 1 && location == 0);
  CHECK(hipMemAdvise(memory, kBytes, hipMemAdviseUnsetReadMostly, 0));
  CHECK(hipMemRangeGetAttribute(&read_mostly, 4, hipMemRangeAttributeReadMostly, memory, kBytes));
  EXPECT(read_mostly == 0);
  CHECK(hipMemPrefetchAsync(memory, kBytes, 0, nullptr));
  fill<<<kItems / 256, 256>>>(memory, 1, kItems);
  CHECK(hipMemPrefetchAsync(memory, kBytes, hipCpuDeviceId, nullptr));
  CHECK(hipDeviceSynchronize());
  EXPECT(memory[kItems - 1] == kItems);
  CHECK(hipFree(memory));

  size_t before = 0, after = 0, total = 0;
  CHECK(hipMemGetInfo(&before, &total));
  void* large;
  CHECK(hipMalloc(&large, size_t{1} << 30));
  CHECK(hipMemGetInfo(&after, &total));
  EXPECT(before - after >= size_t{1} << 30);
  hipDeviceptr_t base;
  size_t bytes = 0;
  CHECK(hipMemGetAddressRange(&base, &bytes, static_cast<char*>(large) + 12345));
  EXPECT(base == large && bytes >= size_t{1} << 30);
  CHECK(hipFree(large));
  EXPECT_ERROR(hipMalloc(&large, size_t{1} << 45), hipErrorOutOfMemory);
}

void streams() {
  int least = 0, greatest = 0;
  CHECK(hipDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT(greatest < least);
  unsigned* values;
  CHECK(hipMalloc(&values, kBytes));
  std::vector<hipStream_t> all;
  std::atomic<int> calls = 0;
  for (int priority = greatest; priority <= least; ++priority) {
    hipStream_t stream;
    CHECK(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, priority));
    int got = 99;
    CHECK(hipStreamGetPriority(stream, &got));
    EXPECT(got == priority);
    fill<<<kItems / 256, 256, 0, stream>>>(values, 5, kItems);
    CHECK(hipStreamAddCallback(
        stream,
        [](hipStream_t, hipError_t error, void* data) {
          *static_cast<std::atomic<int>*>(data) += error == hipSuccess;
        },
        &calls, 0));
    all.push_back(stream);
  }
  CHECK(hipDeviceSynchronize());
  EXPECT(calls == static_cast<int>(all.size()));

  // Times of events in two streams, one behind the other.
  hipEvent_t begin, between, end;
  CHECK(hipEventCreate(&begin));
  CHECK(hipEventCreateWithFlags(&between, hipEventDisableTiming));
  CHECK(hipEventCreate(&end));
  CHECK(hipEventRecord(begin, all[0]));
  last<<<1, 32, 0, all[0]>>>(3 * kMillisecond);
  CHECK(hipEventRecord(between, all[0]));
  CHECK(hipStreamWaitEvent(all[1], between, 0));
  last<<<1, 32, 0, all[1]>>>(2 * kMillisecond);
  CHECK(hipEventRecord(end, all[1]));
  float milliseconds = 0;
  EXPECT_ERROR(hipEventQuery(end), hipErrorNotReady);
  CHECK(hipEventSynchronize(end));
  CHECK(hipEventElapsedTime(&milliseconds, begin, end));
  EXPECT(milliseconds >= 4.99f);
  EXPECT_ERROR(hipEventElapsedTime(&milliseconds, begin, between), hipErrorInvalidHandle);

  // Streams that wait for values: of each other, and of the host.
  unsigned* value;
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&value), 64, hipHostMallocCoherent));
  *value = 0;
  CHECK(hipStreamWaitValue32(all[0], value, 7, hipStreamWaitValueEq, 0xff));
  increment<<<kItems / 256, 256, 0, all[0]>>>(values, kItems);
  EXPECT_ERROR(hipStreamQuery(all[0]), hipErrorNotReady);
  CHECK(hipStreamWriteValue32(all[1], value, 0x107, 0));
  CHECK(hipStreamSynchronize(all[0]));
  EXPECT(*value == 0x107 && at(values, 0) == 6);
  CHECK(hipStreamWaitValue32(all[0], value, 0x200, hipStreamWaitValueGte, ~0u));
  std::thread host([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    __atomic_store_n(value, 0x201, __ATOMIC_RELEASE);
  });
  CHECK(hipStreamSynchronize(all[0]));
  host.join();

  const uint32_t mask[] = {0xff, 0, 0};
  uint32_t got[3] = {};
  hipStream_t masked;
  CHECK(hipExtStreamCreateWithCUMask(&masked, 3, mask));
  CHECK(hipExtStreamGetCUMask(masked, 3, got));
  EXPECT(got[0] == 0xff && got[1] == 0 && got[2] == 0);
  fill<<<kItems / 256, 256, 0, masked>>>(values, 3, kItems);
  CHECK(hipStreamSynchronize(masked));
  EXPECT(at(values, 9) == 12);
  CHECK(hipStreamDestroy(masked));
  for (hipStream_t stream : all) CHECK(hipStreamDestroy(stream));
  for (hipEvent_t event : {begin, between, end}) CHECK(hipEventDestroy(event));
  CHECK(hipHostFree(value));
  CHECK(hipFree(values));
}

void launches() {
  hipStream_t stream;
  hipEvent_t begin, end;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipEventCreate(&begin));
  CHECK(hipEventCreate(&end));
  long long ticks = 2 * kMillisecond;
  void* arguments[] = {&ticks};
  CHECK(hipExtLaunchKernel(reinterpret_cast<const void*>(last), dim3(1), dim3(32), arguments, 0, stream,
                           begin, end, 0));
  CHECK(hipEventSynchronize(end));
  float milliseconds = 0;
  CHECK(hipEventElapsedTime(&milliseconds, begin, end));
  EXPECT(milliseconds >= 1.99f);

  unsigned* values;
  CHECK(hipMalloc(&values, kBytes));
  fill<<<1, 1025>>>(values, 0, 1);
  EXPECT(hipGetLastError() != hipSuccess);
  fill<<<0, 32>>>(values, 0, 1);
  EXPECT(hipGetLastError() != hipSuccess);
  fill<<<1, 32, 100'000>>>(values, 0, 1);
  EXPECT(hipGetLastError() != hipSuccess);

  std::atomic<long> different = 0;
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < 16; ++number)
    threads.emplace_back([&different, number] {
      unsigned* own;
      hipStream_t stream;
      std::vector<unsigned> found(kItems);
      CHECK(hipMalloc(&own, kBytes));
      CHECK(hipStreamCreate(&stream));
      for (unsigned round = 0; round < 20; ++round) {
        const unsigned first = number * 100 + round;
        fill<<<kItems / 256, 256, 0, stream>>>(own, first, kItems);
        increment<<<kItems / 256, 256, 0, stream>>>(own, kItems);
        CHECK(hipMemcpyAsync(found.data(), own, kBytes, hipMemcpyDeviceToHost, stream));
        CHECK(hipStreamSynchronize(stream));
        for (unsigned i = 0; i < kItems; ++i) different += found[i] != first + i + 1;
      }
      CHECK(hipStreamDestroy(stream));
      CHECK(hipFree(own));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT(different == 0);
  CHECK(hipFree(values));
  CHECK(hipEventDestroy(begin));
  CHECK(hipEventDestroy(end));
  CHECK(hipStreamDestroy(stream));
}

void modules() {
  const char* const text =
      "template <class T> __global__ void add(T* values, T more) { values[threadIdx.x] += more * FACTOR; }\n"
      "__device__ int offset = 4;\n"
      "extern \"C\" __global__ void shift(int* values) { values[threadIdx.x] += offset; }\n";
  int* values;
  CHECK(hipMalloc(&values, 256));
  std::vector<std::string> codes, names, offsets;
  for (const char* factor : {"-DFACTOR=1", "-DFACTOR=1000"}) {
    hiprtcProgram program;
    hiprtcCreateProgram(&program, text, "text.hip", 0, nullptr, nullptr);
    hiprtcAddNameExpression(program, "add<int>");
    hiprtcAddNameExpression(program, "&offset");
    EXPECT(hiprtcCompileProgram(program, 1, &factor) == HIPRTC_SUCCESS);
    const char *name = "", *offset = "";
    EXPECT(hiprtcGetLoweredName(program, "add<int>", &name) == HIPRTC_SUCCESS);
    EXPECT(hiprtcGetLoweredName(program, "&offset", &offset) == HIPRTC_SUCCESS);
    size_t bytes = 0;
    hiprtcGetCodeSize(program, &bytes);
    std::string code(bytes, 0);
    hiprtcGetCode(program, code.data());
    codes.push_back(std::move(code));
    names.emplace_back(name);
    offsets.emplace_back(offset);
    hiprtcDestroyProgram(&program);
  }
  // Code comes to places where other code has been.
  for (int round = 0; round < 30; ++round) {
    hipModule_t loaded[2];
    for (int i = 0; i < 2; ++i) CHECK(hipModuleLoadData(&loaded[i], codes[i].data()));
    for (int i : {1, 0}) {
      hipFunction_t add, shift;
      CHECK(hipModuleGetFunction(&add, loaded[i], names[i].c_str()));
      CHECK(hipModuleGetFunction(&shift, loaded[i], "shift"));
      hipDeviceptr_t offset;
      size_t bytes = 0;
      CHECK(hipModuleGetGlobal(&offset, &bytes, loaded[i], offsets[i].c_str()));
      const int seven = 7;
      CHECK(hipMemcpy(offset, &seven, 4, hipMemcpyHostToDevice));
      CHECK(hipMemset(values, 0, 256));
      void* arguments[] = {&values, &round};
      CHECK(hipModuleLaunchKernel(add, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
      struct {
        int* values;
      } packed = {values};
      size_t size = sizeof packed;
      void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                       HIP_LAUNCH_PARAM_END};
      CHECK(hipModuleLaunchKernel(shift, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
      EXPECT(at(reinterpret_cast<unsigned*>(values), 63) ==
             static_cast<unsigned>(round * (i ? 1000 : 1) + 7));
    }
    hipFunction_t none;
    EXPECT_ERROR(hipModuleGetFunction(&none, loaded[0], "absent"), hipErrorNotFound);
    for (hipModule_t module : loaded) CHECK(hipModuleUnload(module));
  }
  hiprtcProgram program;
  hiprtcCreateProgram(&program, "__global__ void f( { }", "wrong.hip", 0, nullptr, nullptr);
  EXPECT(hiprtcCompileProgram(program, 0, nullptr) == HIPRTC_ERROR_COMPILATION);
  size_t bytes = 0;
  hiprtcGetProgramLogSize(program, &bytes);
  std::string log(bytes, 0);
  hiprtcGetProgramLog(program, log.data());
  EXPECT(log.find("wrong.hip:1:") != std::string::npos && log.find("error:") != std::string::npos);
  hiprtcDestroyProgram(&program);
  CHECK(hipFree(values));
}

void graphs() {
  hipStream_t stream;
  unsigned* values;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipMalloc(&values, kBytes));
  std::vector<unsigned> found(kItems);
  int runs = 0;
  hipGraph_t graph;
  hipGraphNode_t set, kernel, copy, host;
  CHECK(hipGraphCreate(&graph, 0));
  hipMemsetParams fills = {};
  fills.dst = values;
  fills.elementSize = 4;
  fills.value = 9;
  fills.width = kItems;
  fills.height = 1;
  CHECK(hipGraphAddMemsetNode(&set, graph, nullptr, 0, &fills));
  unsigned count = kItems;
  void* arguments[] = {&values, &count};
  hipKernelNodeParams launch = {};
  launch.func = reinterpret_cast<void*>(increment);
  launch.gridDim = dim3(kItems / 256);
  launch.blockDim = dim3(256);
  launch.kernelParams = arguments;
  CHECK(hipGraphAddKernelNode(&kernel, graph, &set, 1, &launch));
  CHECK(
      hipGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, found.data(), values, kBytes, hipMemcpyDeviceToHost));
  hipHostNodeParams call = {};
  call.fn = [](void* data) { ++*static_cast<int*>(data); };
  call.userData = &runs;
  CHECK(hipGraphAddHostNode(&host, graph, &copy, 1, &call));
  hipGraphExec_t executable;
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 10; ++i) CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  EXPECT(found[0] == 10 && found[kItems - 1] == 10 && runs == 10);

  fills.value = 99;
  CHECK(hipGraphExecMemsetNodeSetParams(executable, set, &fills));
  count = 5;
  CHECK(hipGraphExecKernelNodeSetParams(executable, kernel, &launch));
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  EXPECT(found[4] == 100 && found[5] == 99);

  // What two streams do is caught as a graph with two branches behind one root.
  hipStream_t other;
  hipEvent_t fork, join;
  CHECK(hipStreamCreate(&other));
  CHECK(hipEventCreate(&fork));
  CHECK(hipEventCreate(&join));
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
  CHECK(hipMemsetAsync(values, 0, kBytes, stream));
  CHECK(hipEventRecord(fork, stream));
  CHECK(hipStreamWaitEvent(other, fork, 0));
  increment<<<8, 256, 0, stream>>>(values, kItems / 2);
  increment<<<8, 256, 0, other>>>(values + kItems / 2, kItems / 2);
  CHECK(hipEventRecord(join, other));
  CHECK(hipStreamWaitEvent(stream, join, 0));
  CHECK(hipMemcpyAsync(found.data(), values, kBytes, hipMemcpyDeviceToHost, stream));
  hipGraph_t caught;
  hipGraphExec_t caught_executable;
  CHECK(hipStreamEndCapture(stream, &caught));
  CHECK(hipGraphInstantiate(&caught_executable, caught, nullptr, nullptr, 0));
  for (int i = 0; i < 5; ++i) CHECK(hipGraphLaunch(caught_executable, stream));
  CHECK(hipStreamSynchronize(stream));
  EXPECT(found[0] == 1 && found[kItems - 1] == 1);
  for (hipGraphExec_t each : {executable, caught_executable}) CHECK(hipGraphExecDestroy(each));
  for (hipGraph_t each : {graph, caught}) CHECK(hipGraphDestroy(each));
  for (hipEvent_t each : {fork, join}) CHECK(hipEventDestroy(each));
  for (hipStream_t each : {stream, other}) CHECK(hipStreamDestroy(each));
  CHECK(hipFree(values));
}

void pools() {
  hipStream_t stream, other;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipStreamCreate(&other));
  hipMemPool_t pool;
  CHECK(hipDeviceGetDefaultMemPool(&pool, 0));
  uint64_t kept = 1 << 24;
  CHECK(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &kept));
  for (unsigned i = 0; i < 20; ++i) {
    unsigned *values, result = 0;
    hipEvent_t done;
    CHECK(hipMallocAsync(reinterpret_cast<void**>(&values), kBytes, stream));
    fill<<<kItems / 256, 256, 0, stream>>>(values, i, kItems);
    CHECK(hipMemcpyAsync(&result, values + kItems - 1, 4, hipMemcpyDeviceToHost, stream));
    CHECK(hipEventCreate(&done));
    CHECK(hipEventRecord(done, stream));
    CHECK(hipStreamWaitEvent(other, done, 0));
    CHECK(hipFreeAsync(values, other));
    CHECK(hipStreamSynchronize(stream));
    EXPECT(result == kItems - 1 + i);
    CHECK(hipEventDestroy(done));
  }
  CHECK(hipStreamSynchronize(other));
  uint64_t bytes = 1;
  CHECK(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &bytes));
  EXPECT(bytes == 0);
  CHECK(hipMemPoolTrimTo(pool, 0));
  CHECK(hipMemPoolGetAttribute(pool, hipMemPoolAttrReservedMemCurrent, &bytes));
  EXPECT(bytes == 0);
  CHECK(hipStreamDestroy(stream));
  CHECK(hipStreamDestroy(other));
}

// With a second device.
void peers() {
  EXPECT_ERROR(hipDeviceDisablePeerAccess(1), hipErrorPeerAccessNotEnabled);
  unsigned* counters[2];
  hipStream_t streams[2];
  for (int device = 0; device < 2; ++device) {
    CHECK(hipSetDevice(device));
    CHECK(hipMalloc(&counters[device], kBytes));
    CHECK(hipMemset(counters[device], 0, kBytes));
    CHECK(hipStreamCreate(&streams[device]));
    CHECK(hipDeviceSynchronize());
  }
  CHECK(hipSetDevice(0));
  for (unsigned round = 0; round < 3; ++round) {
    CHECK(hipDeviceEnablePeerAccess(1, 0));
    EXPECT_ERROR(hipDeviceEnablePeerAccess(1, 0), hipErrorPeerAccessAlreadyEnabled);
    fill<<<kItems / 256, 256>>>(counters[1], round, kItems);
    CHECK(hipDeviceSynchronize());
    EXPECT(at(counters[1], 5) == round + 5);
    CHECK(hipDeviceDisablePeerAccess(1));
  }
  CHECK(hipMemcpyPeer(counters[0], 0, counters[1], 1, kBytes));
  EXPECT(at(counters[0], 5) == 7);

  void* arguments[2][1] = {{&counters[0]}, {&counters[1]}};
  hipLaunchParams launches[2] = {};
  for (int device = 0; device < 2; ++device) {
    launches[device].func = reinterpret_cast<void*>(count);
    launches[device].gridDim = dim3(10);
    launches[device].blockDim = dim3(64);
    launches[device].args = arguments[device];
    launches[device].stream = streams[device];
  }
  CHECK(hipLaunchCooperativeKernelMultiDevice(launches, 2, 0));
  for (int device = 0; device < 2; ++device) {
    CHECK(hipSetDevice(device));
    CHECK(hipStreamSynchronize(streams[device]));
    EXPECT(at(counters[device], 0) == 2 + 640);
    CHECK(hipStreamDestroy(streams[device]));
    CHECK(hipFree(counters[device]));
  }
  CHECK(hipSetDevice(0));
}

void resets() {
  unsigned* values;
  for (int round = 0; round < 3; ++round) {
    CHECK(hipMalloc(&values, kBytes));
    fill<<<kItems / 256, 256>>>(values, 1, kItems);
    last<<<1, 32>>>(5 * kMillisecond);
    CHECK(hipDeviceReset());
  }
  CHECK(hipMalloc(&values, kBytes));
  fill<<<kItems / 256, 256>>>(values, 1, kItems);
  EXPECT(at(values, 9) == 10);
  CHECK(hipFree(values));
}

}  // namespace

int main() {
  int devices = 0;
  CHECK(hipGetDeviceCount(&devices));
  shapes();
  advice();
  streams();
  launches();
  modules();
  graphs();
  pools();
  if (devices > 1) peers();
  resets();
  return verdict("runtime calls", wrong);
}
