#include "machine/placement.h"

#include <bit>
#include <stdexcept>
#include <string>

namespace lockstep::machine {

namespace {

constexpr unsigned kGroupsOfAProcessor = 32;  // guide 2.3

uint64_t ones(unsigned count) {
  return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

// The first run of `count` free bits among the lowest `size`.
std::optional<unsigned> free_run(uint64_t taken, unsigned size, unsigned count) {
  for (unsigned at = 0; at + count <= size; ++at)
    if ((taken >> at & ones(count)) == 0) return at;
  return std::nullopt;
}

unsigned counted(uint32_t total, uint32_t unit, const char* what) {
  const uint32_t count = total / unit;
  if (count == 0 || count > 64)
    throw std::invalid_argument("the device has " + std::to_string(count) + " " + what +
                                ", which is beyond what is modelled (1 to 64)");
  return count;
}

}  // namespace

Placement::Placement(const hardware::Description& device)
    : device_(device),
      granules_(counted(device.vgprs_per_simd, device.vgpr_granule_wave32, "granules of VGPRs in a SIMD")),
      lds_blocks_(counted(device.lds_bytes_per_work_group_processor / 2, device.lds_granule_bytes,
                          "LDS blocks on each side")),
      processors_(device.work_group_processors()) {
  if (device.compute_units_per_work_group_processor != 2 || device.simds_per_compute_unit != 2)
    throw std::invalid_argument("a work-group processor must have 2 compute units of 2 SIMDs");
}

bool Placement::fits(Processor& processor, const PlacementNeeds& needs, unsigned first_simd, unsigned simds,
                     GroupPlacement& group) const {
  // A wave64 register counts for two of the 32-lane registers, and its granule is half as large.
  const unsigned granule = device_.vgpr_granule_wave32 / (needs.wave_size == 64 ? 2 : 1);
  group.vgpr_granules = (needs.vgprs + granule - 1) / granule;
  std::array<Simd, 4> after = processor.simds;
  // The SIMD with the fewest waves is first, then the others in turn.
  unsigned start = first_simd;
  for (unsigned i = first_simd; i < first_simd + simds; ++i)
    if (std::popcount(after[i].slots) < std::popcount(after[start].slots)) start = i;
  for (unsigned i = 0; i < needs.waves; ++i) {
    bool found = false;
    for (unsigned k = 0; k < simds && !found; ++k) {
      const unsigned number = first_simd + (start - first_simd + i + k) % simds;
      Simd& simd = after[number];
      const auto slot = free_run(simd.slots, device_.waves_per_simd, 1);
      const auto vgprs = free_run(simd.vgprs, granules_, group.vgpr_granules);
      if (!slot || !vgprs) continue;
      simd.slots |= ones(1) << *slot;
      simd.vgprs |= ones(group.vgpr_granules) << *vgprs;
      group.wave[i] = {static_cast<uint8_t>(number), static_cast<uint8_t>(*slot),
                       static_cast<uint16_t>(*vgprs)};
      found = true;
    }
    if (!found) return false;
  }
  processor.simds = after;
  return true;
}

bool Placement::ever_fits(const PlacementNeeds& needs) const {
  Processor empty;
  GroupPlacement group;
  return needs.waves <= GroupPlacement::kMaxWaves &&
         (needs.lds_bytes + device_.lds_granule_bytes - 1) / device_.lds_granule_bytes <= lds_blocks_ &&
         fits(empty, needs, 0, needs.wgp_mode ? 4 : 2, group);
}

std::optional<GroupPlacement> Placement::allocate(const PlacementNeeds& needs) {
  const uint32_t granule = device_.lds_granule_bytes;
  const unsigned blocks = (needs.lds_bytes + granule - 1) / granule;
  if (needs.waves > GroupPlacement::kMaxWaves || blocks > lds_blocks_) return std::nullopt;
  const unsigned engines = device_.shader_engines, arrays = device_.arrays_per_shader_engine;
  std::lock_guard lock(mutex_);
  for (unsigned tried = 0; tried < processors_.size(); ++tried) {
    const unsigned turn = (next_ + tried) % processors_.size();
    GroupPlacement group;
    group.shader_engine = turn % engines;
    group.shader_array = turn / engines % arrays;
    group.processor_in_array = turn / engines / arrays;
    group.processor = turn;
    group.waves = needs.waves;
    Processor& processor = processors_[turn];
    const auto slot = free_run(processor.groups, kGroupsOfAProcessor, 1);
    if (!slot) continue;
    for (unsigned side = 0; side < 2; ++side) {
      const auto lds = blocks ? free_run(processor.lds[side], lds_blocks_, blocks) : std::optional(0u);
      if (!lds) continue;
      // In CU mode the waves share the side of their compute unit's SIMDs.
      if (!fits(processor, needs, needs.wgp_mode ? 0 : side * 2, needs.wgp_mode ? 4 : 2, group)) continue;
      group.group_slot = *slot;
      group.lds_side = side;
      group.lds_block = *lds;
      group.lds_blocks = blocks;
      processor.groups |= ones(1) << *slot;
      if (blocks) processor.lds[side] |= ones(blocks) << *lds;
      next_ = (turn + 1) % static_cast<unsigned>(processors_.size());
      return group;
    }
  }
  return std::nullopt;
}

void Placement::release(const GroupPlacement& group) {
  std::lock_guard lock(mutex_);
  Processor& processor = processors_[group.processor];
  processor.groups &= ~(ones(1) << group.group_slot);
  if (group.lds_blocks) processor.lds[group.lds_side] &= ~(ones(group.lds_blocks) << group.lds_block);
  for (unsigned i = 0; i < group.waves; ++i) {
    const WavePlace& place = group.wave[i];
    Simd& simd = processor.simds[place.simd];
    simd.slots &= ~(ones(1) << place.slot);
    simd.vgprs &= ~(ones(group.vgpr_granules) << place.vgpr_granule);
  }
}

uint32_t hardware_id1(const GroupPlacement& group, unsigned wave) {
  const WavePlace& place = group.wave[wave];
  return place.slot | place.simd << 8 | group.processor_in_array << 10 | group.shader_array << 16 |
         group.shader_engine << 18;
}

uint32_t hardware_id2(const GroupPlacement& group, unsigned vmid) {
  constexpr uint32_t kComputeEngine = 1;
  return kComputeEngine << 8 | (group.group_slot & 31) << 16 | vmid << 24;
}

uint32_t vgpr_allocation(const GroupPlacement& group, unsigned wave) {
  return group.wave[wave].vgpr_granule | group.vgpr_granules << 12;
}

uint32_t lds_allocation(const GroupPlacement& group, uint32_t lds_bytes) {
  // Of the work-group processor's 128 kB.
  const uint32_t base = group.lds_side * 65536 + group.lds_block * 1024;
  return (lds_bytes ? base / 512 : 0) | (lds_bytes + 511) / 512 << 12;
}

}  // namespace lockstep::machine
