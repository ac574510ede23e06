// Where waves live on the device: wave slots, VGPRs and LDS of each work-group processor, handed out to
// work-groups.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "hardware/hardware.h"
#include "machine/compute_units.h"
#include "machine/launch.h"

namespace lockstep::machine {

struct PlacementNeeds {
  unsigned waves = 1;
  unsigned wave_size = 32;
  unsigned vgprs = 24;  // allocated to each wave: whole granules
  uint32_t lds_bytes = 0;
  bool wgp_mode = true;                 // false: all waves on one compute unit, and LDS on its side
  const ComputeUnits* units = nullptr;  // that it may have, in WGP mode both of a processor; null: all
};

struct WavePlace {
  uint8_t simd = 0;  // of the work-group processor
  uint8_t slot = 0;  // of the SIMD
  uint16_t vgpr_granule = 0;
};

struct GroupPlacement {
  static constexpr unsigned kMaxWaves = 32;

  unsigned processor = 0;  // work-group processor, of the whole device
  unsigned shader_engine = 0, shader_array = 0, processor_in_array = 0;
  // Of the work-group processor; groups of one wave have none, and 0 here.
  unsigned group_slot = 0;
  unsigned double_precision_lanes = 0;     // of each SIMD
  unsigned lds_block = 0, lds_blocks = 0;  // of the work-group processor: the upper half is compute unit 1's
  unsigned waves = 0, vgpr_granules = 0;
  std::array<WavePlace, kMaxWaves> wave{};
  uint32_t lost_slots = 0, lost_vgprs = 0;  // bit by wave: others may have them already
  bool is_whole() const { return lost_slots == 0 && lost_vgprs == 0; }
};

// Groups go to the shader engines in turn, then to their arrays, then to the work-group processors of these;
// waves of a group to the SIMDs in turn. Registers and LDS are given in whole granules, each in one piece. In
// CU mode the waves and their LDS stay with one compute unit; in WGP mode LDS may lie across the middle
// (guide 2.3, 3.3.2, 3.3.4). Safe from several threads.
class Placement {
 public:
  explicit Placement(const hardware::Description& device);

  // Whether an empty device has room for such a group.
  bool ever_fits(const PlacementNeeds& needs) const;
  // Nothing if there is no room now.
  std::optional<GroupPlacement> allocate(const PlacementNeeds& needs);
  void release(const GroupPlacement& group);
  // Of a group that goes on: the waves in `ended` need their slots and VGPRs no more, those in
  // `without_vgprs` have given their VGPRs back (bits by wave). What was released before stays so.
  void release_waves(GroupPlacement& group, uint32_t ended, uint32_t without_vgprs);

 private:
  static constexpr unsigned kSimdsOfProcessor = hardware::kComputeUnits * hardware::kSimds;
  using LdsBlocks = unsigned __int128;
  struct Simd {
    uint64_t slots = 0, vgprs = 0;  // taken ones
  };
  struct Processor {
    std::array<Simd, kSimdsOfProcessor> simds;
    LdsBlocks lds = 0;
    uint64_t groups = 0;
  };
  unsigned lds_blocks_of(const PlacementNeeds& needs) const;
  // What a group stays within is the work-group processor, or one of its two compute units.
  static unsigned parts_of(const PlacementNeeds& needs);
  // Where a work-group processor is; nothing of it is taken.
  GroupPlacement place_of(unsigned processor) const;
  // Bits by part: those of the processor that the group may have.
  static unsigned parts_allowed(const PlacementNeeds& needs, const GroupPlacement& place);
  // Takes slots and registers for the waves, or changes nothing.
  bool fits(Processor& processor, const PlacementNeeds& needs, unsigned first_simd, unsigned simds,
            GroupPlacement& group) const;

  // Slots and VGPRs of the waves, but for those that the group has lost before.
  void release_waves_locked(const GroupPlacement& group, uint32_t slots, uint32_t vgprs);

  const hardware::Description device_;
  const unsigned granules_;    // of VGPRs in a SIMD
  const unsigned lds_blocks_;  // of a work-group processor
  std::mutex mutex_;
  std::vector<Processor> processors_;
  unsigned next_ = 0;
};

// HW_ID1 and HW_ID2 of a wave (guide 3.4.8; the Linux driver's gc_11_0_0_sh_mask.h has the same bits).
uint32_t hardware_id1(const GroupPlacement& group, unsigned wave);
uint32_t hardware_id2(const GroupPlacement& group, unsigned vmid);
// GPR_ALLOC and LDS_ALLOC (bits: gc_11_0_0_sh_mask.h; units: the Linux driver's context save handler
// cwsr_trap_handler_gfx10.asm, which also serves gfx11, takes VGPR_SIZE for fours of registers less one, and
// LDS_SIZE for 256 bytes). VGPR_BASE is counted in fours of 32-lane registers, LDS_BASE in 256 bytes: in
// these units the 9 bits of each span the whole file (open).
uint32_t vgpr_allocation(const GroupPlacement& group, unsigned wave, const Launch& launch, unsigned vgprs);
uint32_t lds_allocation(const GroupPlacement& group, const Launch& launch);

}  // namespace lockstep::machine
