// Scratch memory of resident waves: a ring of equal entries in guest memory, one for each wave that may have
// scratch at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "hardware/hardware.h"
#include "memory/address_space.h"

namespace lockstep::machine {

// What COMPUTE_TMPRING_SIZE of gfx11 says: WAVES (bits 0 to 11) counts the entries of each shader engine,
// WAVESIZE (bits 12 to 26) an entry's units of 256 bytes (LLVM: SPI_TMPRING_SIZE; the HSA runtime fills the
// register the same way). Entries of the engines alternate, and the lowest free one is taken (open). Safe
// from several threads.
class ScratchRing {
 public:
  static constexpr uint32_t kUnit = 256;
  static constexpr uint32_t kMostWaves = 0xfff, kMostUnits = 0x7fff;

  // Over memory that the guest has; `memory` is kept as long as this lives.
  ScratchRing(uint64_t base, uint32_t wave_bytes, unsigned engines, unsigned waves_per_engine,
              std::shared_ptr<void> memory = nullptr);
  // In memory of its own, with an entry for each wave slot of the device, or less if that is very much.
  // Throws std::bad_alloc.
  static std::shared_ptr<ScratchRing> make(AddressSpace& memory, const hardware::Description& device,
                                           uint32_t wave_bytes);

  uint64_t base() const { return base_; }
  uint32_t wave_bytes() const { return wave_bytes_; }
  unsigned waves_per_engine() const { return waves_per_engine_; }
  uint64_t bytes() const { return uint64_t{wave_bytes_} * waves_per_engine_ * taken_.size(); }
  uint32_t register_value() const { return waves_per_engine_ | wave_bytes_ / kUnit << 12; }
  // FLAT_SCRATCH of the wave that has the entry.
  uint64_t address(uint32_t entry) const { return base_ + uint64_t{entry} * wave_bytes_; }

  // An entry for each wave of a group on that shader engine; false and none if there are not so many.
  bool take(unsigned engine, std::span<uint32_t> entries);
  void give_back(std::span<const uint32_t> entries);

 private:
  const std::shared_ptr<void> memory_;
  const uint64_t base_;
  const uint32_t wave_bytes_;
  const unsigned waves_per_engine_;
  std::mutex mutex_;
  std::vector<std::vector<bool>> taken_;  // by engine and place in it
};

// Bytes that a wave of so many lanes needs, in whole units.
inline constexpr uint64_t scratch_wave_bytes(uint32_t bytes_per_lane, unsigned wave_size) {
  return (uint64_t{bytes_per_lane} * wave_size + ScratchRing::kUnit - 1) / ScratchRing::kUnit *
         ScratchRing::kUnit;
}

}  // namespace lockstep::machine
