// Who stands between a wave and its instructions. Engines call it only if one is given; without it, nothing
// is spent on it. Those who follow what waves do are Listeners (engine/listener.h).
#pragma once

#include <cstdint>

#include "isa/instruction.h"
#include "state/wave.h"

namespace lockstep {

class Observer {
 public:
  // What it wants to be called about: asked when an instruction is decoded, from any thread.
  enum class Calls : uint8_t { none, before, before_and_behind };

  virtual ~Observer() = default;
  virtual Calls calls_for(const isa::Instruction&) const { return Calls::before; }
  // Called before a wave-instruction, with the registers that it will read. `instruction` stays where it is
  // for as long as the engine lives. False stops the wave before it, ready to go on there. Must not throw. A
  // wave is observed by one thread at a time.
  virtual bool on_instruction(const Wave& wave, const isa::Instruction& instruction, uint64_t pc) = 0;
  // Called behind it, unless it took the wave elsewhere.
  virtual void on_executed(const Wave&) {}
  // The wave's turn is over: what it executed last is done, unless wave.state is faulted, blocked or halted.
  virtual void on_turn_over(const Wave&) {}
};

}  // namespace lockstep
