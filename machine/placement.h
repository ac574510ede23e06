// Where waves live on the device: wave slots, VGPRs and LDS of each work-group processor, handed out to
// work-groups.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "hardware/hardware.h"

namespace lockstep::machine {

struct PlacementNeeds {
  unsigned waves = 1;
  unsigned wave_size = 32;
  unsigned vgprs = 24;  // allocated to each wave: whole granules
  uint32_t lds_bytes = 0;
  bool wgp_mode = true;  // false: all waves on one compute unit, and LDS on its side
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
  unsigned group_slot = 0;  // of the work-group processor
  unsigned lds_side = 0, lds_block = 0, lds_blocks = 0;
  unsigned waves = 0, vgpr_granules = 0;
  std::array<WavePlace, kMaxWaves> wave{};
};

// Groups go to the shader engines in turn, then to their arrays, then to the work-group processors of these;
// waves of a group to the SIMDs in turn. Registers and LDS are given in whole granules and never straddle:
// LDS stays on one side (guide 2.3, 3.3.2, 12.1). Safe from several threads.
class Placement {
 public:
  // Throws std::invalid_argument for a device whose registers or LDS this cannot count.
  explicit Placement(const hardware::Description& device);

  // Whether an empty device has room for such a group.
  bool ever_fits(const PlacementNeeds& needs) const;
  // Nothing if there is no room now.
  std::optional<GroupPlacement> allocate(const PlacementNeeds& needs);
  void release(const GroupPlacement& group);

 private:
  struct Simd {
    uint64_t slots = 0, vgprs = 0;  // taken ones
  };
  struct Processor {
    std::array<Simd, 4> simds;
    std::array<uint64_t, 2> lds{};
    uint64_t groups = 0;
  };
  // Takes slots and registers for the waves, or changes nothing.
  bool fits(Processor& processor, const PlacementNeeds& needs, unsigned first_simd, unsigned simds,
            GroupPlacement& group) const;

  const hardware::Description device_;
  const unsigned granules_;    // of VGPRs in a SIMD
  const unsigned lds_blocks_;  // of one side
  std::mutex mutex_;
  std::vector<Processor> processors_;
  unsigned next_ = 0;
};

// HW_ID1 and HW_ID2, GPR_ALLOC and LDS_ALLOC of a wave (guide 3.4; LLVM and the public register lists of
// gfx11). The units of GPR_ALLOC are the granules of the device, those of LDS_ALLOC 512 bytes (open).
uint32_t hardware_id1(const GroupPlacement& group, unsigned wave);
uint32_t hardware_id2(const GroupPlacement& group, unsigned vmid);
uint32_t vgpr_allocation(const GroupPlacement& group, unsigned wave);
uint32_t lds_allocation(const GroupPlacement& group, uint32_t lds_bytes);

}  // namespace lockstep::machine
