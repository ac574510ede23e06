// The registers that an instruction touches as a wave comes to it.
#pragma once

#include "isa/effects.h"
#include "state/trap_status.h"
#include "state/wave.h"

namespace lockstep {

inline isa::RegisterEffects register_effects(const Wave& wave, const isa::Instruction& instruction) {
  return isa::register_effects(instruction, {.wave_size = wave.wave_size,
                                             .vgpr_count = wave.vgpr_count,
                                             .is_privileged = (wave.status & status_bit::kPrivileged) != 0,
                                             .m0 = wave.scalar[kScalarM0]});
}

}  // namespace lockstep
