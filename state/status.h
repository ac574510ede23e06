// STATUS as programs and debuggers read it.
#pragma once

#include <cstdint>

#include "state/trap_status.h"
#include "state/wave.h"
#include "state/work_group.h"

namespace lockstep {

namespace trapsts_bit {
// Not in the guide, but what ROCr's trap handler looks at (trap_handler.s): a page was not there.
inline constexpr uint32_t kXnackError = 1u << 28;
}  // namespace trapsts_bit

// With the bits that nobody keeps because they follow from the rest (guide 3.4.1).
inline uint32_t status_of(const Wave& wave) {
  using namespace status_bit;
  uint32_t value = (wave.status & ~(kScc | kExecZero | kVccZero)) | kValid;
  if (wave.scalar[kScalarScc]) value |= kScc;
  if (wave.exec() == 0) value |= kExecZero;
  if (wave.mask(kScalarVcc) == 0) value |= kVccZero;
  if (wave.group && wave.group->wave_count > 1) value |= kInWorkGroup;
  // Only the host sees these: what a held wave had under way has landed.
  if (wave.state == WaveState::held) {
    value |= kIdle;
    if (wave.held_from == WaveState::at_barrier) value |= kInBarrier;
  }
  return value;
}

}  // namespace lockstep
