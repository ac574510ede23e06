// The memory of all devices of the process: one file without a name, in which every allocation has its place.
// Both device nodes are descriptors of it, and what they tell programs to mmap are offsets in it, so a mmap
// that nobody sees works, too.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

namespace lockstep::host {

class Store {
 public:
  // Offsets of what is no allocation: pages of doorbells and of registers, for each device.
  static constexpr uint64_t kFirstDoorbells = uint64_t{1} << 45, kDoorbellBytes = 8192;
  static constexpr uint64_t kFirstRegisters = kFirstDoorbells + (uint64_t{1} << 24), kRegisterBytes = 4096;
  // What the kernel's driver had programs poll before they could wait: 4096 slots of 8 bytes.
  static constexpr uint64_t kEvents = kFirstRegisters + (uint64_t{1} << 24), kEventBytes = 32768;

  // Throws std::system_error.
  Store();
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  int descriptor() const { return descriptor_; }
  // The place of so many bytes, a multiple of a page; 0 if there is none left.
  uint64_t allocate(uint64_t bytes);
  // Whether all of these bytes are allocated.
  bool has_given(uint64_t offset, uint64_t bytes) const;
  // Gives the memory back to the host.
  void free(uint64_t offset, uint64_t bytes);
  // Maps a part of it into the process, at `address` if that is not null; null if that fails.
  void* map(void* address, uint64_t offset, uint64_t bytes) const;

 private:
  int descriptor_;
  mutable std::mutex mutex_;
  std::map<uint64_t, uint64_t> gaps_;  // begin to end
};

}  // namespace lockstep::host
