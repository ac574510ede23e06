#include "machine/scratch_ring.h"

#include <algorithm>
#include <new>

namespace lockstep::machine {

namespace {

// Of address space; pages are the host's only once a wave has used them.
constexpr uint64_t kMostBytes = uint64_t{8} << 30;

struct Mapping {
  AddressSpace& space;
  std::shared_ptr<const HostPages> pages;

  ~Mapping() {
    space.unmap(pages->address());
    pages->empty();
  }
};

}  // namespace

ScratchRing::ScratchRing(uint64_t base, uint32_t wave_bytes, unsigned engines, unsigned waves_per_engine,
                         std::shared_ptr<void> memory)
    : memory_(std::move(memory)),
      base_(base),
      wave_bytes_(wave_bytes),
      waves_per_engine_(waves_per_engine),
      taken_(engines, std::vector<bool>(waves_per_engine)) {}

std::shared_ptr<ScratchRing> ScratchRing::make(AddressSpace& memory, const hardware::Description& device,
                                               uint32_t wave_bytes) {
  const uint64_t slots = uint64_t{device.compute_units()} * device.simds_per_compute_unit *
                         device.waves_per_simd / device.shader_engines;
  constexpr uint64_t kGroup = 32;  // waves that a group may have
  const uint64_t room = std::max(kGroup, kMostBytes / (uint64_t{wave_bytes} * device.shader_engines));
  const auto waves = static_cast<unsigned>(std::min({slots, room, uint64_t{kMostWaves}}));
  const uint64_t bytes = (uint64_t{wave_bytes} * waves * device.shader_engines + 4095) / 4096 * 4096;
  const auto pages = HostPages::make(bytes);
  if (!pages || !memory.map(pages->address(), bytes, kReadWrite, "scratch", pages)) throw std::bad_alloc();
  std::shared_ptr<Mapping> mapping(new Mapping{memory, pages});
  return std::make_shared<ScratchRing>(pages->address(), wave_bytes, device.shader_engines, waves,
                                       std::move(mapping));
}

bool ScratchRing::take(unsigned engine, std::span<uint32_t> entries) {
  std::lock_guard lock(mutex_);
  std::vector<bool>& taken = taken_[engine];
  size_t found = 0;
  for (size_t place = 0; place < taken.size() && found < entries.size(); ++place)
    if (!taken[place]) entries[found++] = static_cast<uint32_t>(place * taken_.size() + engine);
  if (found < entries.size()) return false;
  for (uint32_t entry : entries) taken[entry / taken_.size()] = true;
  return true;
}

void ScratchRing::give_back(std::span<const uint32_t> entries) {
  std::lock_guard lock(mutex_);
  for (uint32_t entry : entries) taken_[entry % taken_.size()][entry / taken_.size()] = false;
}

}  // namespace lockstep::machine
