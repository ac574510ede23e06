#include "machine/placement.h"

#include <bit>

namespace lockstep::machine {

namespace {

template <class Bits = uint64_t>
Bits ones(unsigned count) {
  return count >= 8 * sizeof(Bits) ? ~Bits{0} : (Bits{1} << count) - 1;
}

// The first run of `count` free bits from `begin` to `end`.
template <class Bits>
std::optional<unsigned> free_run(Bits taken, unsigned begin, unsigned end, unsigned count) {
  for (unsigned at = begin; at + count <= end; ++at)
    if ((taken >> at & ones<Bits>(count)) == 0) return at;
  return std::nullopt;
}

}  // namespace

Placement::Placement(const hardware::Description& device)
    : device_(device),
      granules_(device.vgprs_per_simd / device.vgpr_granule_wave32),
      lds_blocks_(device.lds_bytes_per_work_group_processor / device.lds_granule_bytes),
      processors_(device.work_group_processors()) {}

unsigned Placement::lds_blocks_of(const PlacementNeeds& needs) const {
  return (needs.lds_bytes + device_.lds_granule_bytes - 1) / device_.lds_granule_bytes;
}

unsigned Placement::parts_of(const PlacementNeeds& needs) {
  return needs.wgp_mode ? 1 : hardware::kComputeUnits;
}

GroupPlacement Placement::place_of(unsigned processor) const {
  const unsigned engines = device_.shader_engines, arrays = device_.arrays_per_shader_engine;
  GroupPlacement group;
  group.processor = processor;
  group.shader_engine = processor % engines;
  group.shader_array = processor / engines % arrays;
  group.processor_in_array = processor / engines / arrays;
  return group;
}

unsigned Placement::parts_allowed(const PlacementNeeds& needs, const GroupPlacement& place) {
  if (!needs.units) return 3;
  const unsigned units =
      needs.units->of_processor(place.shader_engine, place.shader_array, place.processor_in_array);
  if (!needs.wgp_mode) return units;
  return units == 3 ? 1 : 0;
}

bool Placement::fits(Processor& processor, const PlacementNeeds& needs, unsigned first_simd, unsigned simds,
                     GroupPlacement& group) const {
  // A wave64 register counts for two of the 32-lane registers, and its granule is half as large.
  const unsigned granule = device_.vgpr_granule_wave32 / (needs.wave_size == 64 ? 2 : 1);
  group.vgpr_granules = (needs.vgprs + granule - 1) / granule;
  std::array<Simd, kSimdsOfProcessor> after = processor.simds;
  // The SIMD with the fewest waves is first, then the others in turn.
  unsigned start = first_simd;
  for (unsigned i = first_simd; i < first_simd + simds; ++i)
    if (std::popcount(after[i].slots) < std::popcount(after[start].slots)) start = i;
  for (unsigned i = 0; i < needs.waves; ++i) {
    bool found = false;
    for (unsigned k = 0; k < simds && !found; ++k) {
      const unsigned number = first_simd + (start - first_simd + i + k) % simds;
      Simd& simd = after[number];
      const auto slot = free_run(simd.slots, 0, device_.waves_per_simd, 1);
      const auto vgprs = free_run(simd.vgprs, 0, granules_, group.vgpr_granules);
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
  bool allowed = false;
  for (unsigned turn = 0; turn < processors_.size() && !allowed; ++turn)
    allowed = parts_allowed(needs, place_of(turn)) != 0;
  return allowed && needs.waves <= GroupPlacement::kMaxWaves &&
         needs.lds_bytes <= device_.lds_bytes_per_work_group &&
         lds_blocks_of(needs) <= lds_blocks_ / parts_of(needs) &&
         fits(empty, needs, 0, kSimdsOfProcessor / parts_of(needs), group);
}

std::optional<GroupPlacement> Placement::allocate(const PlacementNeeds& needs) {
  if (needs.waves > GroupPlacement::kMaxWaves || needs.lds_bytes > device_.lds_bytes_per_work_group)
    return std::nullopt;
  const unsigned blocks = lds_blocks_of(needs), parts = parts_of(needs);
  const unsigned part_blocks = lds_blocks_ / parts, part_simds = kSimdsOfProcessor / parts;
  std::lock_guard lock(mutex_);
  for (unsigned tried = 0; tried < processors_.size(); ++tried) {
    const unsigned turn = (next_ + tried) % processors_.size();
    GroupPlacement group = place_of(turn);
    const unsigned allowed = parts_allowed(needs, group);
    if (allowed == 0) continue;
    group.waves = needs.waves;
    group.double_precision_lanes = device_.double_precision_lanes_per_simd;
    Processor& processor = processors_[turn];
    // A group of a single wave has no barrier and takes none of the places (guide 2.3).
    std::optional<unsigned> slot = 0;
    if (needs.waves > 1)
      slot = free_run(processor.groups, 0, device_.work_groups_per_work_group_processor, 1);
    if (!slot) continue;
    for (unsigned part = 0; part < parts; ++part) {
      if (!(allowed >> part & 1)) continue;
      const auto lds = blocks ? free_run(processor.lds, part * part_blocks, (part + 1) * part_blocks, blocks)
                              : std::optional(0u);
      if (!lds) continue;
      if (!fits(processor, needs, part * part_simds, part_simds, group)) continue;
      group.group_slot = *slot;
      group.lds_block = *lds;
      group.lds_blocks = blocks;
      if (needs.waves > 1) processor.groups |= ones(1) << *slot;
      processor.lds |= ones<LdsBlocks>(blocks) << *lds;
      next_ = (turn + 1) % static_cast<unsigned>(processors_.size());
      return group;
    }
  }
  return std::nullopt;
}

void Placement::release(const GroupPlacement& group) {
  std::lock_guard lock(mutex_);
  Processor& processor = processors_[group.processor];
  if (group.waves > 1) processor.groups &= ~(ones(1) << group.group_slot);
  processor.lds &= ~(ones<LdsBlocks>(group.lds_blocks) << group.lds_block);
  release_waves_locked(group, ~0u, ~0u);
}

void Placement::release_waves(GroupPlacement& group, uint32_t ended, uint32_t without_vgprs) {
  std::lock_guard lock(mutex_);
  release_waves_locked(group, ended, ended | without_vgprs);
  group.lost_slots |= ended;
  group.lost_vgprs |= ended | without_vgprs;
}

void Placement::release_waves_locked(const GroupPlacement& group, uint32_t slots, uint32_t vgprs) {
  slots &= ~group.lost_slots;
  vgprs &= ~group.lost_vgprs;
  for (unsigned i = 0; i < group.waves; ++i) {
    const WavePlace& place = group.wave[i];
    Simd& simd = processors_[group.processor].simds[place.simd];
    if (slots >> i & 1) simd.slots &= ~(ones(1) << place.slot);
    if (vgprs >> i & 1) simd.vgprs &= ~(ones(group.vgpr_granules) << place.vgpr_granule);
  }
}

uint32_t hardware_id1(const GroupPlacement& group, unsigned wave) {
  const WavePlace& place = group.wave[wave];
  // DP_RATE: 1 for one lane, 2 for two, 3 for four; 0 for none.
  const auto rate = static_cast<unsigned>(std::bit_width(group.double_precision_lanes));
  return place.slot | place.simd << 8 | group.processor_in_array << 10 | group.shader_array << 16 |
         group.shader_engine << 18 | rate << 29;
}

uint32_t hardware_id2(const GroupPlacement& group, unsigned vmid) {
  constexpr uint32_t kComputeEngine = 1;
  return kComputeEngine << 8 | (group.group_slot & 31) << 16 | vmid << 24;
}

uint32_t vgpr_allocation(const GroupPlacement& group, unsigned wave, const Launch& launch, unsigned vgprs) {
  return group.wave[wave].vgpr_granule * launch.vgpr_granule / 4 | (vgprs / 4 - 1) << 12;
}

uint32_t lds_allocation(const GroupPlacement& group, const Launch& launch) {
  constexpr uint32_t kUnit = 256;
  const uint32_t blocks = (launch.lds_bytes + launch.lds_granule - 1) / launch.lds_granule;
  const uint32_t units = launch.lds_granule / kUnit;
  return (blocks ? group.lds_block * units : 0) | blocks * units << 12;
}

}  // namespace lockstep::machine
