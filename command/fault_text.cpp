#include "command/fault_text.h"

#include "command/guest_memory.h"
#include "text/hex.h"

namespace lockstep::command {

std::string fault_text(const machine::WaveFault& fault) {
  return "work-group (" + std::to_string(fault.group[0]) + ", " + std::to_string(fault.group[1]) + ", " +
         std::to_string(fault.group[2]) + "), wave " + std::to_string(fault.wave) + ", PC " +
         hex(fault.fault.pc) + ": " + fault.instruction + ": " + fault.fault.message;
}

Interrupt interrupt_of(const Wave& wave, uint32_t payload, uint64_t queue) {
  Interrupt interrupt;
  interrupt.source = Interrupt::Source::wave;
  interrupt.data = payload;
  interrupt.queue = queue;
  for (unsigned axis = 0; axis < 3; ++axis) interrupt.work_group[axis] = wave.group->id[axis];
  interrupt.wave = wave.index_in_group;
  return interrupt;
}

}  // namespace lockstep::command
