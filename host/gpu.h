// One emulated device of the process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "command/command_processor.h"
#include "hardware/hardware.h"
#include "host/trap_handler.h"
#include "memory/address_space.h"

namespace lockstep::host {

struct Gpu {
  uint32_t index = 0;
  uint32_t id = 0;  // as KFD names it
  hardware::Description model;
  AddressSpace memory{AddressSpace::Changes::seen_at_once};
  TrapHandler traps;
  std::unique_ptr<command::CommandProcessor> processor;
};

using Gpus = std::vector<std::unique_ptr<Gpu>>;

// Distinct for up to 64 devices of all models.
inline uint32_t gpu_id(const hardware::Description& model, uint32_t index) {
  return model.pci_device_id | (index + 1) << 16;
}
// Of the render node of a device.
inline constexpr unsigned kFirstRenderMinor = 128, kDrmMajor = 226;
inline constexpr unsigned kMostGpus = 64;

inline constexpr uint64_t kPageBytes = 4096, kHighestAddress = uint64_t{1} << 47;
// Whether a program can have memory there, at the begin of a page.
inline bool is_address_range(uint64_t address, uint64_t bytes) {
  return address % kPageBytes == 0 && address >= kPageBytes && bytes != 0 && bytes <= kHighestAddress &&
         address <= kHighestAddress - bytes;
}

// What programs can have of it: the driver keeps 16 MiB (24560 of 24576 on a Radeon RX 7900 XTX,
// docs/rocm.md).
inline uint64_t local_memory_bytes(const hardware::Description& model) {
  constexpr uint64_t kDriversMegabytes = 16;
  return (model.memory_megabytes - std::min<uint64_t>(model.memory_megabytes, kDriversMegabytes)) << 20;
}

}  // namespace lockstep::host
