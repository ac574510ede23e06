// The AQL packet that dispatches a kernel, as kernels find it through their dispatch pointer.
#pragma once

#include <cstdint>

namespace lockstep::machine {

// hsa_kernel_dispatch_packet_t (HSA runtime specification 2.9.6).
struct KernelDispatchPacket {
  uint16_t header, setup;  // setup: dimensions in bits 0 and 1
  uint16_t workgroup_size[3];
  uint16_t reserved0;
  uint32_t grid_size[3];
  uint32_t private_segment_size, group_segment_size;
  uint64_t kernel_object, kernarg_address;
  uint64_t reserved2, completion_signal;
};
static_assert(sizeof(KernelDispatchPacket) == 64);

}  // namespace lockstep::machine
