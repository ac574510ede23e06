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
  // is for as long as the engine lives. Must not throw. Waves of one dispatch are observed by one thread.
  virtual void on_instruction(const Wave& wave, const isa::Instruction& instruction, uint64_t pc) = 0;
};

}  // namespace lockstep
