// Who stands between a wave and its instructions. Engines call it only if one is given; without it, nothing
// is spent on it. Those who follow what waves do are Listeners (engine/listener.h).
#pragma once

#include <cstdint>

#include "isa/instruction.h"
#include "state/wave.h"

namespace lockstep {

class Observer {
 public:
  // What it wants to be called about, and what it knows of the instruction then.
  enum class Calls : uint8_t { none, before, before_and_behind };
  struct Wish {
    Calls calls = Calls::before;
    const void* known = nullptr;
    bool may_be_passed = false;  // one that goes_straight_on(), where an answer says so
  };
  struct Answer {
    bool goes_on = true;  // false: the wave stops before the instruction, ready to go on there
    // Those before this address that may be passed are executed without a call: what the observer would do
    // there it has done. Who answers so must be called about all that do not go straight on.
    uint64_t passes_until = 0;
  };

  virtual ~Observer() = default;
  // Asked when an instruction is decoded, from any thread.
  virtual Wish wish_for(const isa::Instruction&) { return {}; }
  // Called before a wave-instruction, with the registers that it will read. `instruction` stays where it is
  // for as long as the engine lives; `known` is that of the wish. Must not throw. A wave is observed by one
  // thread at a time.
  virtual Answer on_instruction(const Wave& wave, const isa::Instruction& instruction, uint64_t pc,
                                const void* known) = 0;
  // Called behind it, unless it took the wave elsewhere.
  virtual void on_executed(const Wave&) {}
  // The wave's turn is over: what it executed last is done, unless wave.state is faulted, blocked or halted.
  virtual void on_turn_over(const Wave&) {}
};

}  // namespace lockstep
