// A dispatch as users of the C interface put it into a queue.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "api/lockstep.hpp"

// hsa_kernel_dispatch_packet_t
struct DispatchPacket {
  uint16_t header = 2 | 2 << 9 | 2 << 11, setup = 1;
  uint16_t workgroup_size[3] = {32, 1, 1};
  uint16_t reserved0 = 0;
  uint32_t grid_size[3] = {32, 1, 1};
  uint32_t private_segment_size = 16384, group_segment_size = 65536;  // as listings have them
  uint64_t kernel_object = 0, kernarg_address = 0, reserved2 = 0, completion_signal = 0;
};
static_assert(sizeof(DispatchPacket) == 64);

// Runs the code's first kernel through a queue of its own, with one argument, and waits for its end.
inline void run_through_queue(lockstep::Device& device, const lockstep::CodeObject& code, uint64_t argument) {
  auto arguments = device.allocate<uint64_t>(128, "arguments");
  arguments.data()[0] = argument;
  lockstep::Signal done(device, 1);
  lockstep::Queue queue(device);
  DispatchPacket packet;
  packet.kernel_object = device.kernel_object(code.kernels()[0]);
  packet.kernarg_address = arguments.address();
  packet.completion_signal = done.get();
  queue.submit<DispatchPacket>({{packet}});
  EXPECT_EQ(done.wait(LOCKSTEP_EQUAL, 0, 20'000'000'000), 0);
}
