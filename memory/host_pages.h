// Zeroed pages of the host that the guest may get.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lockstep {

// They go back to the host when the last owner lets go. Ranges own theirs (AddressSpace::map), so a wave that
// still has a range that was unmapped reaches nothing but these pages.
class HostPages {
 public:
  // Null if the host has no memory; errno says why.
  static std::shared_ptr<HostPages> make(uint64_t bytes);
  ~HostPages();
  HostPages(const HostPages&) = delete;
  HostPages& operator=(const HostPages&) = delete;

  std::byte* data() const { return data_; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(data_); }
  uint64_t bytes() const { return bytes_; }
  // Nobody needs the contents: the host gets its memory back now, whoever still owns the addresses.
  void empty() const;

 private:
  HostPages(std::byte* data, uint64_t bytes) : data_(data), bytes_(bytes) {}

  std::byte* const data_;
  const uint64_t bytes_;
};

}  // namespace lockstep
