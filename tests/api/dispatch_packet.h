// A dispatch as users of the C interface put it into a queue.
#pragma once

#include <cstdint>

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
