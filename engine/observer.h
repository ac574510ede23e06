// Who watches waves execute. Engines call it only if one is given; without it, nothing is spent on it.
#pragma once

#include <cstdint>

#include "isa/instruction.h"
#include "state/wave.h"

namespace lockstep {

class Observer {
 public:
  virtual ~Observer() = default;
  // Called before each wave-instruction, with the registers that it will read. `instruction` stays where it
  // is for as long as the engine lives. False stops the wave before it, ready to go on there. Must not throw.
  // A wave is observed by one thread at a time.
  virtual bool on_instruction(const Wave& wave, const isa::Instruction& instruction, uint64_t pc) = 0;
};

}  // namespace lockstep
