// The files by which the kernel's driver shows devices: KFD's topology, the module, the class of graphics
// devices, the device on its bus.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/hardware.h"

namespace lockstep::host {

// Versions of firmware, as programs are told them that ask for what it can do.
inline constexpr uint32_t kComputeFirmware = 550, kCopyFirmware = 21;

// The link to the host: 16 GT/s.
inline constexpr uint32_t kPcieGeneration = 4, kPcieLanes = 16;

// As the driver's list of hardware has them.
struct PartVersion {
  unsigned major, minor, revision;
};
PartVersion graphics_version(const hardware::Description& model);
PartVersion copy_engine_version(const hardware::Description& model);

struct DeviceFile {
  enum class Kind : uint8_t {
    file,
    folder,
    shared_folder,  // in which there are the host's own files, too
    link,           // its text is the absolute path that it leads to
    used_memory,    // a file that tells how many bytes of a device's memory are allocated; its text is the
                    // device's number
  };
  std::string path;  // "/sys/..."
  std::string text;
  Kind kind = Kind::file;
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

// Whether a path is the driver's, whether there is a file or not.
bool is_device_path(std::string_view path);

// The same with the folders that they are in, sorted by path.
std::vector<DeviceFile> with_folders(std::vector<DeviceFile> files);

}  // namespace lockstep::host
