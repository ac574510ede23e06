// Buffers as the render node knows them: memory that was passed to it as a dmabuf, which it maps where the
// program says (hipMemCreate, hipMemMap).
#pragma once

#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "host/gpu.h"
#include "host/store.h"

namespace lockstep::host {

// Functions that answer ioctls return 0 or the number of an error (errno.h).
class GemObjects {
 public:
  explicit GemObjects(Store& store) : store_(store) {}
  ~GemObjects();
  GemObjects(const GemObjects&) = delete;
  GemObjects& operator=(const GemObjects&) = delete;

  // The same memory has one handle on a device, however often it is imported.
  int import(const Gpu& gpu, drm_prime_handle& args);
  int export_again(const Gpu& gpu, drm_prime_handle& args);
  // Unmaps it, too.
  int close(Gpu& gpu, const drm_gem_close& args);
  int change_mapping(Gpu& gpu, const drm_amdgpu_gem_va& args);
  // Where a program finds it in the node. Memory of another process is given a place in the store that is
  // nothing but a name for mmap, as imported buffers are.
  int mmap_offset(const Gpu& gpu, drm_amdgpu_gem_mmap& args);
  // The object whose name lies at `offset`: its descriptor, and the offset there; -1 if the program was told
  // of less. Nothing if it is no name.
  std::optional<int> descriptor_at(uint64_t& offset, uint64_t bytes) const;
  // Whether one of them is mapped among these addresses.
  bool are_mapped_in(uint64_t begin, uint64_t bytes) const;
  // What programs say of the memory, for others that get it: nothing to the devices.
  int metadata(const Gpu& gpu, drm_amdgpu_gem_metadata& args);
  bool has(const Gpu& gpu, uint32_t handle) const;
  // Where the device has these bytes of it; 0: nowhere.
  uint64_t address_of(const Gpu& gpu, uint32_t handle, uint64_t offset, uint64_t bytes) const;
  // How it was made, or where it should be, which changes nothing: it has one place.
  int operate(const Gpu& gpu, const drm_amdgpu_gem_op& args);

 private:
  struct Object {
    int record = -1, memory = -1;  // descriptors
    uint64_t inode = 0;            // of the memory
    uint64_t offset = 0, bytes = 0;
    bool is_own = false;  // this process's memory
    uint64_t name = 0;    // else its place in the store, once it was asked for
    struct Mapping {
      uint64_t bytes = 0, offset = 0;  // in the object
    };
    std::map<uint64_t, Mapping> mappings;  // by their begins
  };
  // Mappings of the process, which all devices share.
  struct Shared {
    uint64_t bytes = 0, inode = 0, offset = 0;
    unsigned users = 0;
  };
  using Key = std::pair<uint32_t, uint32_t>;  // device and handle

  int map(Gpu& gpu, Object& object, const drm_amdgpu_gem_va& args);
  void unmap(Gpu& gpu, Object& object, uint64_t begin);

  Store& store_;
  mutable std::mutex mutex_;
  std::map<Key, Object> objects_;
  std::map<uint64_t, Shared> shared_;
  uint32_t next_handle_ = 1;
};

}  // namespace lockstep::host
