// The files by which the kernel's driver shows devices: KFD's topology, the module, the render nodes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hardware/hardware.h"

namespace lockstep::host {

struct DeviceFile {
  std::string path;  // "/sys/..."
  std::string text;
};

// What there is to say of the host.
struct HostFacts {
  unsigned processors = 1;
  uint64_t memory_bytes = 0;
};
HostFacts host_facts();

// All of them, for so many devices of the model.
std::vector<DeviceFile> device_files(const hardware::Description& model, unsigned devices,
                                     const HostFacts& host);

// Paths that begin with one of these are looked for in the files' folder instead.
bool is_device_path(std::string_view path);

// A folder with these files in it, the same one for the same files: it stays, as a cache does. Throws
// std::runtime_error.
std::string write_device_files(const std::vector<DeviceFile>& files);

}  // namespace lockstep::host
