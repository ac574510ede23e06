#include "api/lockstep.hpp"
#include "cli/commands.h"
#include "cli/common.h"

namespace lockstep::cli {

int list_devices() {
  print("{:<10} {:<8} {:<22} {:>4} {:>6} {:>6} {:>11} {:>9}  {}\n", "name", "target", "board", "CUs", "SIMDs",
        "waves", "VGPRs/SIMD", "LDS/WGP", "clock");
  for (const lockstep_device_info& d : Device::models()) {
    uint32_t simds = d.compute_units * d.simds_per_compute_unit;
    print("{:<10} {:<8} {:<22} {:>4} {:>6} {:>6} {:>11} {:>9}  {} MHz\n", d.name, d.target, d.description,
          d.compute_units, simds, simds * d.waves_per_simd, d.vgprs_per_simd,
          short_bytes(d.lds_bytes_per_work_group_processor), d.clock_mhz);
  }
  print("\n{:<10} {:>15} {:>9} {:>8} {:>8} {:>6} {:>9} {:>7} {:>7} {:>7}  {}\n", "name", "SE x SA x WGP",
        "granule", "I-cache", "K-cache", "L0/CU", "L1/array", "L2", "MALL", "LDS/WG", "memory");
  for (const lockstep_device_info& d : Device::models()) {
    const uint32_t arrays = d.shader_engines * d.arrays_per_shader_engine;
    print("{:<10} {:>15} {:>9} {:>8} {:>8} {:>6} {:>9} {:>7} {:>7} {:>7}  {} GB/s\n", d.name,
          fmt::format("{} x {} x {}", d.shader_engines, d.arrays_per_shader_engine,
                      d.work_group_processors / arrays),
          fmt::format("{} VGPRs", d.vgpr_granule_wave32), short_bytes(d.instruction_cache_bytes),
          short_bytes(d.scalar_cache_bytes), short_bytes(d.l0_bytes_per_compute_unit),
          short_bytes(d.l1_bytes_per_array), short_bytes(d.l2_bytes),
          d.mall_bytes ? short_bytes(d.mall_bytes) : "none", short_bytes(d.lds_bytes_per_work_group),
          d.memory_gigabytes_per_second);
  }
  return kDone;
}

}  // namespace lockstep::cli
