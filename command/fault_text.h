// Text about what went wrong on the device.
#pragma once

#include <string>

#include "command/interrupts.h"
#include "machine/launch.h"
#include "state/wave.h"

namespace lockstep::command {

// "work-group (1, 0, 0), wave 2, PC 0x7f00: v_illegal: what happened"
std::string fault_text(const machine::WaveFault& fault);

// What a wave's S_SENDMSG interrupt is for the host.
Interrupt interrupt_of(const Wave& wave, uint32_t payload, uint64_t queue);

}  // namespace lockstep::command
