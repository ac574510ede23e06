// Which resource an instruction of global wave sync names (guide 13.4.4).
#pragma once

#include <cstdint>
#include <optional>

#include "state/device_state.h"

namespace lockstep {

// M0[21:16] and the offset are added, and have to stay within the VMID's resources: nothing is a NACK.
inline std::optional<unsigned> gws_resource(const VmidRanges& range, uint32_t m0, unsigned offset) {
  const unsigned index = ((m0 >> 16 & 63) + (offset & 63)) % GlobalWaveSync::kResources;
  if (index >= range.gws_size) return std::nullopt;
  return (range.gws_base + index) % GlobalWaveSync::kResources;
}

}  // namespace lockstep
