// Hardware facts that no code may have built in: they come from description files, one for each device model
// (hardware/*.toml are part of the library; others can be read from a path).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::hardware {

// A work-group processor has two sides with their LDS, each a compute unit of two SIMDs (guide 1, 2.3).
inline constexpr uint32_t kComputeUnits = 2, kSimds = 2;
// What a SIMD and a work-group processor can have to give out.
inline constexpr uint32_t kMostVgprGranules = 64, kMostLdsBlocks = 128;

struct Description {
  std::string name;         // "navi31"
  std::string description;  // "Radeon RX 7900 XTX"
  std::string target;       // "gfx1100"
  uint32_t shader_engines = 0;
  uint32_t arrays_per_shader_engine = 0;
  uint32_t work_group_processors_per_array = 0;
  uint32_t compute_units_per_work_group_processor = 0;
  uint32_t simds_per_compute_unit = 0;
  uint32_t waves_per_simd = 0;
  uint32_t vgprs_per_simd = 0;
  uint32_t double_precision_lanes_per_simd = 0;  // a clock; 0: none
  uint32_t vgpr_granule_wave32 = 0;
  uint32_t lds_bytes_per_work_group_processor = 0;
  uint32_t lds_bytes_per_work_group = 0;
  uint32_t lds_granule_bytes = 0;
  uint32_t max_work_group_size = 0;
  uint32_t work_groups_per_work_group_processor = 0;  // of more than one wave
  uint32_t clock_mhz = 0;
  uint32_t instruction_cache_bytes = 0;  // bytes, shared by a work-group processor
  uint32_t scalar_cache_bytes = 0;       // likewise
  uint32_t l0_bytes_per_compute_unit = 0;
  uint32_t l1_bytes_per_array = 0;
  uint32_t l2_bytes = 0;
  uint32_t mall_bytes = 0;  // 0: none
  uint32_t memory_gigabytes_per_second = 0;
  // What the board tells its driver.
  uint32_t pci_device_id = 0;
  uint32_t pci_revision = 0;
  uint32_t memory_megabytes = 0;
  uint32_t memory_bus_bits = 0;
  uint32_t memory_clock_mhz = 0;
  uint32_t copy_engines = 0;

  uint32_t work_group_processors() const {
    return shader_engines * arrays_per_shader_engine * work_group_processors_per_array;
  }
  uint32_t compute_units() const { return work_group_processors() * compute_units_per_work_group_processor; }
};

struct WorkGroupNeeds {
  uint32_t wave_size = 32;
  uint32_t vgprs = 0;  // of a wave, as its descriptor asks
  uint32_t work_items = 1;
  uint32_t lds_bytes = 0;
  bool wgp_mode = true;  // false: each group on one compute unit, with the LDS of its side (guide 2.3)
};

// Work-groups of that kind that a work-group processor holds at once; 0 if it cannot hold even one.
uint32_t resident_work_groups(const Description& device, const WorkGroupNeeds& needs);
// Waves of that kind that each SIMD then holds, rounded up.
uint32_t waves_per_simd(const Description& device, const WorkGroupNeeds& needs);

// The models that are part of the library, the default one first.
const std::vector<Description>& models();

// Reads a description. Throws std::runtime_error with file, line and reason: bad TOML, an unknown key, a
// missing or impossible value, a fact without source. What it returns is within the limits of what hardware
// registers count, so that sums and products over it stay small.
Description parse(std::string_view text, const std::string& name);
Description read_file(const std::string& path);

}  // namespace lockstep::hardware
