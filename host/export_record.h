// Memory of the devices as processes pass it to each other and to themselves: a file that stands for it, as a
// dmabuf does.
#pragma once

#include <cstdint>

namespace lockstep::host {

// What the file says about the memory. Its size is that of the memory, as programs ask for it.
struct ExportRecord {
  uint64_t magic;
  uint64_t offset, bytes;
  uint32_t process;
  int32_t store;  // descriptor in that process
  uint32_t flags, gpu;
};
inline constexpr uint64_t kExportMagic = 0x6c6f636b73746570;  // "lockstep"

// What programs have said of the memory (DRM_IOCTL_AMDGPU_GEM_METADATA), behind the record: it goes with the
// memory to other processes, whichever of its files they got. ROCr 7 knows by it that memory is that of a
// handle.
struct ExportMetadata {
  uint64_t flags = 0, tiling = 0;
  uint32_t bytes = 0;
  uint32_t data[64] = {};
};

bool read_record(int descriptor, ExportRecord& record);
bool read_metadata(int descriptor, ExportMetadata& metadata);
bool write_metadata(int descriptor, const ExportMetadata& metadata);
// A descriptor of another process, or of our own; -1, and errno says why.
int open_of_process(uint32_t process, int descriptor);
// Whether anybody has opened the file but for this descriptor, whose copies do not count. It must have been
// opened by open_of_process(): Linux does not count the writers of memfd_create().
bool is_held_by_others(int descriptor);
// The memory's own file; says so if it is not to be had.
int open_exported(const ExportRecord& record);

}  // namespace lockstep::host
