#include "api/lockstep.hpp"
#include "cli/commands.h"
#include "cli/common.h"

namespace lockstep::cli {

int list_devices() {
  fmt::print("{:<10} {:<8} {:<22} {:>4} {:>6} {:>6} {:>11} {:>9}  {}\n", "name", "target", "board", "CUs",
             "SIMDs", "waves", "VGPRs/SIMD", "LDS/WGP", "clock");
  for (const lockstep_device_info& d : Device::models()) {
    uint32_t simds = d.compute_units * d.simds_per_compute_unit;
    fmt::print("{:<10} {:<8} {:<22} {:>4} {:>6} {:>6} {:>11} {:>9}  {} MHz\n", d.name, d.target,
               d.description, d.compute_units, simds, simds * d.waves_per_simd, d.vgprs_per_simd,
               short_bytes(d.lds_bytes_per_work_group_processor), d.clock_mhz);
  }
  return kDone;
}

}  // namespace lockstep::cli
