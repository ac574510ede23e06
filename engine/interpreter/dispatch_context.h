// What all waves of a dispatch share, as the interpreter's handlers see it.
#pragma once

#include "memory/access_modes.h"
#include "memory/address_space.h"
#include "state/real_time.h"
#include "state/wave.h"
#include "state/work_group.h"

namespace lockstep::interpreter {

struct DispatchContext {
  const RangeSet* memory = nullptr;         // null: all of the process's memory is the guest's (run_asm)
  memory::AccessModes modes;                // of the device
  uint64_t trap_base = 0, trap_memory = 0;  // TBA (bit 63: there is a handler) and TMA (guide table 4)
  bool halts_are_resumable = false;         // somebody outside stops halted waves, and lets them go on
  uint32_t host_clock_mhz = 0;              // launch.h
  // Constant-rate counter (100 MHz on the card). It counts the wave's own instructions and the clocks that it
  // asked to sleep, so that runs repeat exactly, but where the program compares it with clocks of the host.
  uint64_t real_time(const Wave* wave, int64_t budget) const {
    return host_clock_mhz ? host_real_time() : own_time(wave, budget);
  }
  // The shader's clocks: programs make so many of a duration by the rate that the device tells.
  uint64_t shader_clocks(const Wave* wave, int64_t budget) const {
    return host_clock_mhz ? host_shader_clocks(host_clock_mhz) : own_time(wave, budget);
  }

 private:
  static uint64_t own_time(const Wave* wave, int64_t budget) {
    return static_cast<uint64_t>(wave->executed_before_turn + (wave->turn_budget - budget));
  }
};

inline const DispatchContext* context_of(const Wave* wave) {
  return static_cast<const DispatchContext*>(wave->dispatch);
}

}  // namespace lockstep::interpreter
