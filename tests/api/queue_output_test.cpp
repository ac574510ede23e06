// What kernels of queues ask of the host: to print, and for memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "api/lockstep.hpp"
#include "tests/api/dispatch_packet.h"

namespace {

using lockstep::CodeObject;
using lockstep::Device;
using lockstep::Queue;
using lockstep::Signal;

constexpr uint64_t kSeconds = 1'000'000'000;

// Takes what a queue prints, and its error, in the order in which they come.
class PrintingQueue {
 public:
  explicit PrintingQueue(Device& device) : device_(device), queue_(device, options()) {}

  // Launches one work-group and returns the index of the packet; the arguments stay.
  uint64_t launch(const lockstep::Kernel& kernel, std::initializer_list<uint64_t> values,
                  lockstep_signal done, uint32_t items = 1, bool barrier = true) {
    lockstep::Arguments arguments(kernel);
    uint32_t i = 0;
    for (const uint64_t value : values) {
      lockstep::check(lockstep_arguments_set(arguments.get(), i++, &value, sizeof value));
    }
    segments_.push_back(device_.allocate<std::byte>(kernel.info().argument_bytes, "segment"));
    lockstep_dispatch_options options;
    lockstep_dispatch_options_init(&options);
    options.grid[0] = options.block[0] = items;
    packet_ = {};
    EXPECT_EQ(lockstep_device_dispatch_packet(device_.get(), kernel.get(), arguments.get(), &options,
                                              segments_.back().address(), done, &packet_),
              LOCKSTEP_OK)
        << lockstep_last_error();
    packet_.header |= barrier ? 1 << 8 : 0;
    return again();
  }
  uint64_t again() { return queue_.submit<DispatchPacket>({{packet_}}); }
  void free_segments() { segments_.clear(); }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  Queue& queue() { return queue_; }

 private:
  const lockstep_queue_options* options() {
    lockstep_queue_options_init(&options_);
    options_.output_user = options_.error_user = this;
    options_.output = [](void* user, const char* text, uint64_t bytes, int stream) {
      auto& self = *static_cast<PrintingQueue*>(user);
      const std::lock_guard lock(self.mutex_);
      self.text_ += (stream == 2 ? "2>" : "") + std::string(text, bytes);
    };
    options_.error = [](void* user, const lockstep_queue_error* error) {
      auto& self = *static_cast<PrintingQueue*>(user);
      const std::lock_guard lock(self.mutex_);
      self.text_ += "error: " + std::string(error->message);
    };
    return &options_;
  }

  Device& device_;
  lockstep_queue_options options_;
  std::mutex mutex_;
  std::string text_;
  DispatchPacket packet_;
  std::vector<lockstep::Buffer<std::byte>> segments_;
  Queue queue_;
};

constexpr const char* kOpenCl =
    "__kernel void say(ulong n) { printf(\"%lu\\n\", n); }\n"
    "__kernel void fault(__global int* x) { printf(\"before\\n\"); x[1] = 1; }\n"
    "__kernel void meet(__global atomic_uint* met, ulong n) {\n"
    "  printf(\"met\\n\");\n"
    "  atomic_fetch_add(met, 1);\n"
    "  while (atomic_load(met) < n);\n"
    "}\n";

TEST(QueueOutput, OfOpenClComesBeforeTheSignalAndTheError) {
  const CodeObject code = CodeObject::compile(LOCKSTEP_OPENCL, kOpenCl, "say.cl", nullptr);
  Device device;
  PrintingQueue queue(device);
  std::string all;
  for (uint64_t n = 0; n < 5; ++n) {
    Signal done(device, 1);
    queue.launch(code.kernel("say"), {n}, done.get());
    all += std::to_string(n) + "\n";
    ASSERT_EQ(done.wait(LOCKSTEP_EQUAL, 0, 20 * kSeconds), 0);
    ASSERT_EQ(queue.text(), all);
  }
  // A dispatch of the host's, and another queue, have buffers of their own.
  PrintingQueue other(device);
  Signal done(device, 2);
  queue.launch(code.kernel("say"), {6}, done.get());
  other.launch(code.kernel("say"), {7}, done.get());
  ASSERT_EQ(done.wait(LOCKSTEP_EQUAL, 0, 20 * kSeconds), 0);
  EXPECT_EQ(queue.text(), all + "6\n");
  EXPECT_EQ(other.text(), "7\n");

  auto x = device.allocate<uint32_t>(1, "x");
  const uint64_t index = queue.launch(code.kernel("fault"), {x.address()}, 0);
  while (queue.text().find("error: ") == std::string::npos) std::this_thread::yield();
  const std::string text = queue.text().substr(all.size() + 2);
  EXPECT_TRUE(text.starts_with("before\nerror: queue " + std::to_string(queue.queue().info().id) +
                               ", packet " + std::to_string(index)))
      << text;
  EXPECT_FALSE(queue.queue().info().active);
}

// The same packet twice, side by side: both wait for each other, so neither has ended when the other begins.
TEST(QueueOutput, OfOnePacketThatRunsTwice) {
  const CodeObject code = CodeObject::compile(LOCKSTEP_OPENCL, kOpenCl, "say.cl", nullptr);
  Device device;
  auto met = device.allocate<uint32_t>(1, "met");
  met[0] = 0;
  PrintingQueue queue(device);
  Signal done(device, 2);
  queue.launch(code.kernel("meet"), {met.address(), 2}, done.get(), 1, false);
  queue.again();
  ASSERT_EQ(done.wait(LOCKSTEP_EQUAL, 0, 60 * kSeconds), 0);
  EXPECT_EQ(queue.text(), "met\nmet\n");
  // And later, when its first buffers are others'.
  Signal later(device, 1);
  PrintingQueue other(device);
  met[0] = 2;
  other.launch(code.kernel("say"), {5}, 0);
  queue.launch(code.kernel("meet"), {met.address(), 2}, later.get());
  ASSERT_EQ(later.wait(LOCKSTEP_EQUAL, 0, 60 * kSeconds), 0);
  EXPECT_EQ(queue.text(), "met\nmet\nmet\n");
}

// Memory of one kernel is freed by another, of a dispatch without a queue.
TEST(QueueOutput, AndMemoryOfHip) {
  const CodeObject code =
      CodeObject::compile(LOCKSTEP_HIP,
                          "#include <hip/hip_runtime.h>\n"
                          "__global__ void make(unsigned long long* out) {\n"
                          "  unsigned* p = (unsigned*)malloc(4 * blockDim.x);\n"
                          "  p[threadIdx.x] = threadIdx.x;\n"
                          "  out[threadIdx.x] = (unsigned long long)p;\n"
                          "  if (threadIdx.x < 2) printf(\"%u of %u\\n\", threadIdx.x, blockDim.x);\n"
                          "}\n"
                          "__global__ void drop(unsigned long long* in) {\n"
                          "  unsigned* p = (unsigned*)in[threadIdx.x];\n"
                          "  printf(\"%u\\n\", p[threadIdx.x]);\n"
                          "  free(p);\n"
                          "}\n"
                          "__global__ void check(unsigned long long* in) { assert(in[0] == 0); }\n",
                          "memory.hip", nullptr);
  Device device;
  auto pointers = device.allocate<uint64_t>(64, "pointers");
  PrintingQueue queue(device);
  Signal done(device, 1);
  queue.launch(code.kernel("make(unsigned long long*)"), {pointers.address()}, done.get(), 64);
  ASSERT_EQ(done.wait(LOCKSTEP_EQUAL, 0, 60 * kSeconds), 0) << queue.text();
  EXPECT_EQ(queue.text(), "0 of 64\n1 of 64\n");
  std::vector<uint64_t> places(pointers.data(), pointers.data() + 64);
  std::sort(places.begin(), places.end());
  EXPECT_EQ(std::unique(places.begin(), places.end()), places.end());

  std::string printed;
  lockstep_dispatch_options options;
  lockstep_dispatch_options_init(&options);
  options.output_user = &printed;
  options.output = [](void* user, const char* text, uint64_t bytes, int) {
    static_cast<std::string*>(user)->append(text, bytes);
  };
  options.grid[0] = options.block[0] = 64;
  const lockstep::Kernel drop = code.kernel("drop(unsigned long long*)");
  lockstep::Arguments arguments(drop);
  arguments.set(0, pointers);
  ASSERT_EQ(lockstep_dispatch(device.get(), drop.get(), arguments.get(), &options, nullptr), LOCKSTEP_OK)
      << lockstep_last_error();
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 64);
  EXPECT_TRUE(printed.starts_with("0\n1\n2\n")) << printed;

  // Requests to the host are no interrupts for those who wait for some.
  lockstep_interrupt interrupt{};
  interrupt.struct_size = sizeof interrupt;
  EXPECT_EQ(lockstep_interrupt_wait(device.get(), 0, &interrupt), LOCKSTEP_CANCELLED);

  // The assertion is told, then the fault.
  queue.launch(code.kernel("check(unsigned long long*)"), {pointers.address()}, 0);
  while (queue.text().find("error: ") == std::string::npos) std::this_thread::yield();
  EXPECT_NE(
      queue.text().find(
          "2>memory.hip:13: void check(unsigned long long *): Device-side assertion `in[0] == 0' failed."),
      std::string::npos)
      << queue.text();
  EXPECT_LT(queue.text().find("assertion"), queue.text().find("error: "));
}

// Arguments that are gone, and those of another kernel at the same place, get no buffers.
TEST(QueueOutput, ForgetsArgumentsThatAreGone) {
  const CodeObject code = CodeObject::compile(LOCKSTEP_OPENCL, kOpenCl, "say.cl", nullptr);
  Device device;
  PrintingQueue queue(device);
  {
    Signal done(device, 1);
    queue.launch(code.kernel("say"), {1}, done.get());
    ASSERT_EQ(done.wait(LOCKSTEP_EQUAL, 0, 20 * kSeconds), 0);
  }
  queue.free_segments();
  queue.again();
  while (queue.text().find("error: ") == std::string::npos) std::this_thread::yield();
  EXPECT_TRUE(queue.text().starts_with("1\nerror: ")) << queue.text();
}

}  // namespace
