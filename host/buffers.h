// Memory that the program has allocated for its devices: KFD's buffers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "host/gem_objects.h"
#include "host/gpu.h"
#include "host/kfd_abi.h"
#include "host/store.h"

namespace lockstep::host {

// Functions that answer ioctls return 0 or the number of an error (errno.h).
class Buffers {
 public:
  Buffers(Store& store, const Gpus& gpus)
      : store_(store), gpus_(gpus), gem_objects_(store), used_(gpus.size()) {}

  int allocate(kfd_ioctl_alloc_memory_of_gpu_args& args);
  int free(const kfd_ioctl_free_memory_of_gpu_args& args);
  int map(kfd_ioctl_map_memory_to_gpu_args& args);
  int unmap(kfd_ioctl_unmap_memory_from_gpu_args& args);
  int available(kfd_ioctl_get_available_memory_args& args);
  int export_dmabuf(ExportDmabufArgs& args);
  int dmabuf_info(kfd_ioctl_get_dmabuf_info_args& args);
  int import_dmabuf(kfd_ioctl_import_dmabuf_args& args);
  int export_ipc(IpcExportArgs& args);
  int import_ipc(IpcImportArgs& args);
  // What is to be mapped for a program that maps so many bytes at `offset` of a device's node: a descriptor,
  // and the offset in it; -1 if that is no place that programs are told of.
  int descriptor_at(uint64_t& offset, uint64_t bytes) const;

  // Where in the store a buffer is that has so many bytes of it, or 0.
  uint64_t place_of(uint64_t handle, uint64_t bytes);

  uint64_t used(const Gpu& gpu) const;
  // Whether a device has memory that was allocated for it among these addresses; what is the program's own
  // does not count.
  bool are_mapped_in(uint64_t begin, uint64_t bytes) const;
  // The same memory by the render nodes.
  GemObjects& gem_objects() { return gem_objects_; }
  // Memory that a render node has made: a buffer without an address that only the node's object holds.
  int create_gem(const Gpu& gpu, drm_amdgpu_gem_create& args);
  int close_gem(Gpu& gpu, const drm_gem_close& args);

 private:
  struct Buffer {
    uint64_t address = 0, bytes = 0;
    uint64_t offset = 0;  // in the store; 0: the program's own memory
    // A descriptor of the file of another process, whose memory it is, and the offset there. The place in the
    // store then is nothing but a name for mmap.
    int imported = -1;
    uint64_t imported_offset = 0;
    int record = -1;  // descriptor of the file that stands for it where it is exported, or was imported
    bool shows_holders = false;  // of that file: is_held_by_others() tells
    uint32_t flags = 0;
    uint32_t gpu = 0;           // index of the one that has it
    std::set<uint32_t> mapped;  // indices of those that may access it
  };

  // Memory whose buffer is gone, but not all descriptors by which it was exported.
  struct Left {
    uint64_t offset = 0, bytes = 0;
    int record = -1;
    uint32_t flags = 0, gpu = 0;
  };

  Gpu* find(uint32_t id) const;
  Buffer* find_buffer(uint64_t handle);
  // The ids of an array of the program's; false if it is not there.
  bool read_ids(uint64_t address, uint32_t count, std::vector<uint32_t>& ids) const;
  int map_on(Buffer& buffer, Gpu& gpu);
  // mutex_ is held.
  void give_back(const Left& memory);
  void give_back_left();
  // The file that stands for the buffer, or minus the number of an error. There is one, however often it is
  // exported.
  int record_of(Buffer& buffer) const;
  int make_record(const Buffer& buffer) const;
  // Takes over the memory that such a file stands for; `handle` becomes the new buffer's.
  int import(int record_file, uint64_t address, uint32_t gpu, uint64_t& handle);

  Store& store_;
  const Gpus& gpus_;
  GemObjects gem_objects_;
  mutable std::mutex mutex_;
  uint64_t next_handle_ = 1;
  std::map<uint64_t, Buffer> buffers_;
  std::set<uint64_t> of_program_;  // those of them that are memory of the program
  std::vector<uint64_t> used_;     // bytes of each device's own memory
  std::vector<Left> left_;
};

}  // namespace lockstep::host
