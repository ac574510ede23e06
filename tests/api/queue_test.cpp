// Queues and signals as programs use them: against the shared library.
#include <gtest/gtest.h>

#include <cstring>
#include <mutex>
#include <string>
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

CodeObject assembled(const char* text) {
  lockstep_compile_options options;
  lockstep_compile_options_init(&options);
  options.wave_size = 32;
  return CodeObject::compile(LOCKSTEP_ASSEMBLY, text, "queue.s", &options);
}

TEST(Queues, ADispatchPacketAndItsSignal) {
  const CodeObject code = assembled(
      "s_load_b64 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_lshlrev_b32 v1, 2, v0\n"
      "v_add_nc_u32 v2, 5, v0\nglobal_store_b32 v1, v2, s[4:5]");
  Device device;
  auto out = device.allocate<uint32_t>(32, "out");
  auto arguments = device.allocate<uint64_t>(128, "arguments");
  *reinterpret_cast<uint64_t*>(arguments.address()) = out.address();
  Signal done(device, 1);
  Queue queue(device);
  DispatchPacket packet;
  packet.kernel_object = device.kernel_object(code.kernels()[0]);
  packet.kernarg_address = arguments.address();
  packet.completion_signal = done.get();
  EXPECT_EQ(queue.submit<DispatchPacket>({{packet}}), 0u);
  EXPECT_EQ(done.wait(LOCKSTEP_EQUAL, 0, 20 * kSeconds), 0);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(reinterpret_cast<const uint32_t*>(out.address())[i], i + 5);
  EXPECT_TRUE(queue.info().active);
  EXPECT_EQ(queue.info().write_index, 1u);
  EXPECT_NE(queue.info().queue_address, 0u);
}

// Hidden arguments too: the kernel asks for its grid.
TEST(Queues, PacketsOfKernelsAndTheirArguments) {
  const CodeObject code = CodeObject::compile(LOCKSTEP_OPENCL,
                                              "__kernel void k(__global uint* out) {\n"
                                              "  out[get_global_id(1) * get_global_size(0) + "
                                              "get_global_id(0)] = get_global_size(1) + get_local_id(1);\n"
                                              "}\n",
                                              "packet.cl", nullptr);
  const lockstep::Kernel kernel = code.kernel("k");
  Device device;
  auto out = device.allocate<uint32_t>(64, "out");
  auto segment = device.allocate<std::byte>(kernel.info().argument_bytes, "segment");
  lockstep::Arguments arguments(kernel);
  arguments.set(0, out);
  lockstep_dispatch_options options;
  lockstep_dispatch_options_init(&options);
  options.grid[0] = 16;
  options.grid[1] = 4;
  options.block[0] = 8;
  options.block[1] = 2;
  Signal done(device, 1);
  DispatchPacket packet;
  const auto make = [&](const lockstep::Kernel& of, uint64_t at) {
    return lockstep_device_dispatch_packet(device.get(), of.get(),
                                           of.get() == kernel.get() ? arguments.get() : nullptr, &options, at,
                                           done.get(), &packet);
  };
  ASSERT_EQ(make(kernel, segment.address()), LOCKSTEP_OK) << lockstep_last_error();
  EXPECT_EQ(packet.group_segment_size, 0u);
  Queue queue(device);
  queue.submit<DispatchPacket>({{packet}});
  EXPECT_EQ(done.wait(LOCKSTEP_EQUAL, 0, 20 * kSeconds), 0);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], 4 + i / 16 % 2) << i;

  for (const uint64_t nowhere : {uint64_t{0}, uint64_t{4096}, segment.address() + 8}) {
    EXPECT_EQ(make(kernel, nowhere), LOCKSTEP_INVALID_ARGUMENT);
    EXPECT_NE(std::string(lockstep_last_error()).find("argument segment"), std::string::npos);
  }
  options.block[0] = 1 << 20;
  EXPECT_EQ(make(kernel, segment.address()), LOCKSTEP_INVALID_ARGUMENT);
}

// The argument with the largest error of V_RCP_F32, as in Api.FastMathIsRoundedBetter.
TEST(Queues, HaveTheMathOfTheirDevice) {
  const CodeObject code = assembled(
      "s_load_b64 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v1, 0\n"
      "v_rcp_f32 v2, 0x00837bf0\nglobal_store_b32 v1, v2, s[4:5]");
  for (const lockstep_math math : {LOCKSTEP_MATH_EXACT, LOCKSTEP_MATH_FAST}) {
    lockstep_device_options options;
    lockstep_device_options_init(&options);
    options.math = math;
    Device device(&options);
    auto out = device.allocate<uint32_t>(32, "out");
    run_through_queue(device, code, out.address());
    EXPECT_EQ(out[0], math == LOCKSTEP_MATH_FAST ? 0x7e793765u : 0x7e793766u);
  }
}

// The plug-in of the examples: a note for each buffer, when the dispatch has ended.
TEST(Queues, AndDispatchesHavePlugins) {
  const CodeObject code = assembled(
      "s_load_b64 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_lshlrev_b32 v1, 2, v0\n"
      "global_store_b32 v1, v0, s[4:5]");
  Device device;
  auto out = device.allocate<uint32_t>(32, "out");
  auto arguments = device.allocate<uint64_t>(128, "arguments");
  *reinterpret_cast<uint64_t*>(arguments.address()) = out.address();
  const char* plugins[] = {LOCKSTEP_EXAMPLE_PLUGIN};
  lockstep_queue_options options;
  lockstep_queue_options_init(&options);
  options.plugins = plugins;
  options.plugin_count = 1;
  lockstep_queue* queue = nullptr;
  ASSERT_EQ(lockstep_queue_create(device.get(), &options, &queue), LOCKSTEP_OK) << lockstep_last_error();
  Signal done(device, 1);
  DispatchPacket packet;
  packet.kernel_object = device.kernel_object(code.kernels()[0]);
  packet.kernarg_address = arguments.address();
  packet.completion_signal = done.get();
  ASSERT_EQ(lockstep_queue_submit(queue, &packet, 1, 20 * kSeconds, nullptr), LOCKSTEP_OK);
  EXPECT_EQ(done.wait(LOCKSTEP_EQUAL, 0, 20 * kSeconds), 0);
  ASSERT_EQ(lockstep_queue_check_finding_count(queue), 2u);
  lockstep_check_finding finding{};
  finding.struct_size = sizeof finding;
  ASSERT_EQ(lockstep_queue_check_finding(queue, 1, &finding), LOCKSTEP_OK);
  EXPECT_STREQ(finding.checker, "access-histogram");
  EXPECT_STREQ(finding.rule, "what the dispatch does to buffer 'out' of 128 bytes");
  EXPECT_STREQ(finding.detail, "0 reads, 32 writes, 0 atomics; 0 bytes read, 128 written");
  EXPECT_EQ(finding.severity, LOCKSTEP_SEVERITY_NOTE);
  lockstep_queue_destroy(queue);

  plugins[0] = "/nowhere/plugin.so";
  EXPECT_EQ(lockstep_queue_create(device.get(), &options, &queue), LOCKSTEP_BAD_INPUT);
  lockstep_dispatch_options dispatch;
  lockstep_dispatch_options_init(&dispatch);
  lockstep_arguments* none = nullptr;
  ASSERT_EQ(lockstep_arguments_create(code.kernels()[0].get(), &none), LOCKSTEP_OK);
  dispatch.plugins = plugins;
  dispatch.plugin_count = 1;
  EXPECT_EQ(lockstep_dispatch(device.get(), code.kernels()[0].get(), none, &dispatch, nullptr),
            LOCKSTEP_BAD_INPUT);
  EXPECT_NE(std::string(lockstep_last_error()).find("plug-in '/nowhere/plugin.so'"), std::string::npos);
  dispatch.plugins = nullptr;
  EXPECT_EQ(lockstep_dispatch(device.get(), code.kernels()[0].get(), none, &dispatch, nullptr),
            LOCKSTEP_INVALID_ARGUMENT);
  lockstep_arguments_destroy(none);
}

// Each wave of a group stores its number in the same place.
TEST(Queues, HaveAnOrder) {
  const CodeObject code = assembled(
      "s_load_b64 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v1, 0\nv_readfirstlane_b32 s6, v0\n"
      "v_mov_b32 v2, s6\nglobal_store_b32 v1, v2, s[4:5]");
  Device device;
  auto out = device.allocate<uint32_t>(1, "out");
  auto arguments = device.allocate<uint64_t>(128, "arguments");
  *reinterpret_cast<uint64_t*>(arguments.address()) = out.address();
  for (const auto [order, last] :
       {std::pair(LOCKSTEP_ORDER_FORWARD, 96u), std::pair(LOCKSTEP_ORDER_BACKWARD, 0u)}) {
    lockstep_queue_options options;
    lockstep_queue_options_init(&options);
    options.order = order;
    lockstep_queue* queue = nullptr;
    ASSERT_EQ(lockstep_queue_create(device.get(), &options, &queue), LOCKSTEP_OK) << lockstep_last_error();
    Signal done(device, 1);
    DispatchPacket packet;
    packet.grid_size[0] = packet.workgroup_size[0] = 128;
    packet.kernel_object = device.kernel_object(code.kernels()[0]);
    packet.kernarg_address = arguments.address();
    packet.completion_signal = done.get();
    ASSERT_EQ(lockstep_queue_submit(queue, &packet, 1, 20 * kSeconds, nullptr), LOCKSTEP_OK);
    EXPECT_EQ(done.wait(LOCKSTEP_EQUAL, 0, 20 * kSeconds), 0);
    EXPECT_EQ(out[0], last);
    lockstep_queue_destroy(queue);
  }
  lockstep_queue_options options;
  lockstep_queue_options_init(&options);
  options.order = static_cast<lockstep_order>(3);
  lockstep_queue* queue = nullptr;
  EXPECT_EQ(lockstep_queue_create(device.get(), &options, &queue), LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_NE(std::string(lockstep_last_error()).find("options.order is 3"), std::string::npos);
  options.order = LOCKSTEP_ORDER_BACKWARD;
  options.kind = LOCKSTEP_QUEUE_SDMA;
  EXPECT_EQ(lockstep_queue_create(device.get(), &options, &queue), LOCKSTEP_INVALID_ARGUMENT);
}

TEST(Queues, KillLeavesTheDeviceUsable) {
  const CodeObject forever = assembled("again:\ns_branch again"), empty = assembled("s_nop 0");
  Device device;
  Queue queue(device);
  Signal done(device, 1);
  DispatchPacket packet;
  packet.kernel_object = device.kernel_object(forever.kernels()[0]);
  const uint64_t index = queue.submit<DispatchPacket>({{packet}});
  packet.kernel_object = device.kernel_object(empty.kernels()[0]);
  packet.completion_signal = done.get();
  packet.header |= 1 << 8;  // barrier: after all before it
  queue.submit<DispatchPacket>({{packet}});
  EXPECT_FALSE(done.wait(LOCKSTEP_EQUAL, 0, kSeconds / 20));
  queue.kill(index);
  EXPECT_TRUE(done.wait(LOCKSTEP_EQUAL, 0, 20 * kSeconds));
  EXPECT_THROW(queue.kill(index), lockstep::Error);
}

// A program that frees a buffer too early goes wrong as such; it does not take the host down.
TEST(Queues, MemoryMayBeFreedUnderAKernel) {
  const CodeObject code = assembled(
      "s_load_b64 s[4:5], s[0:1], 0x0\nv_mov_b32 v1, 0\nv_mov_b32 v2, 1\ns_waitcnt lgkmcnt(0)\nagain:\n"
      "global_atomic_add_u32 v1, v2, s[4:5]\ns_branch again");
  Device device;
  uint64_t buffer = 0;
  ASSERT_EQ(lockstep_memory_allocate(device.get(), 1 << 20, "early", &buffer), LOCKSTEP_OK);
  auto arguments = device.allocate<uint64_t>(128, "arguments");
  *reinterpret_cast<uint64_t*>(arguments.address()) = buffer;
  Queue queue(device);
  DispatchPacket packet;
  packet.kernel_object = device.kernel_object(code.kernels()[0]);
  packet.kernarg_address = arguments.address();
  const uint64_t index = queue.submit<DispatchPacket>({{packet}});
  while (*reinterpret_cast<const volatile uint32_t*>(buffer) == 0) std::this_thread::yield();
  EXPECT_EQ(lockstep_memory_free(device.get(), buffer), LOCKSTEP_OK);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(queue.info().active);
  queue.kill(index);
}

TEST(Queues, ErrorsReachTheCallbackAndEndTheQueue) {
  Device device;
  struct Seen {
    std::mutex mutex;
    std::string field, message;
  } seen;
  lockstep_queue_options options;
  lockstep_queue_options_init(&options);
  options.size = 16;
  options.error_user = &seen;
  options.error = [](void* user, const lockstep_queue_error* error) {
    auto& to = *static_cast<Seen*>(user);
    std::lock_guard lock(to.mutex);
    to.field = error->field;
    to.message = error->message;
  };
  Queue queue(device, &options);
  queue.submit<DispatchPacket>({{DispatchPacket{}}});
  while (queue.info().active) {
  }
  for (;;) {
    std::lock_guard lock(seen.mutex);
    if (seen.field.empty()) continue;
    EXPECT_EQ(seen.field, "kernel_object");
    EXPECT_NE(seen.message.find("packet 0"), std::string::npos) << seen.message;
    break;
  }
  try {
    queue.submit<DispatchPacket>({{DispatchPacket{}}});
    ADD_FAILURE() << "an inactive queue took a packet";
  } catch (const lockstep::Error& error) {
    EXPECT_NE(std::string(error.what()).find("inactive"), std::string::npos);
  }
}

TEST(Queues, CopyEngineInterruptAndWrongUse) {
  Device device;
  auto memory = device.allocate<uint32_t>(64, "memory");
  auto* words = reinterpret_cast<uint32_t*>(memory.address());
  words[0] = 77;
  lockstep_queue_options options;
  lockstep_queue_options_init(&options);
  options.kind = LOCKSTEP_QUEUE_SDMA;
  Queue queue(device, &options);
  const auto low = static_cast<uint32_t>(memory.address()),
             high = static_cast<uint32_t>(memory.address() >> 32);
  const uint32_t packets[] = {1, 3, 0, low, high, low + 4, high, 6, 9};  // copy 4 bytes, trap 9
  queue.submit<uint32_t>(packets);
  lockstep_interrupt interrupt{};
  interrupt.struct_size = sizeof interrupt;
  ASSERT_EQ(lockstep_interrupt_wait(device.get(), 20 * kSeconds, &interrupt), LOCKSTEP_OK);
  EXPECT_EQ(interrupt.source, LOCKSTEP_INTERRUPT_COPY_ENGINE);
  EXPECT_EQ(interrupt.data, 9u);
  EXPECT_EQ(words[1], 77u);
  EXPECT_EQ(lockstep_interrupt_wait(device.get(), 1000, &interrupt), LOCKSTEP_CANCELLED);

  lockstep_queue* none = nullptr;
  options.size = 100;
  EXPECT_EQ(lockstep_queue_create(device.get(), &options, &none), LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_NE(std::string(lockstep_last_error()).find("power of two"), std::string::npos);
  int64_t value;
  EXPECT_EQ(lockstep_signal_load(device.get(), 64, &value), LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_EQ(lockstep_queue_kill(queue.get(), 0), LOCKSTEP_INVALID_ARGUMENT);
}

TEST(Queues, EndWithTheirDevice) {
  lockstep_device* device = nullptr;
  ASSERT_EQ(lockstep_device_create(nullptr, &device), LOCKSTEP_OK);
  lockstep_queue* queue = nullptr;
  ASSERT_EQ(lockstep_queue_create(device, nullptr, &queue), LOCKSTEP_OK);
  lockstep_device_destroy(device);
}

}  // namespace
