// Tells a listener what the waves of an engine do: the accesses are found just before an instruction
// executes.
#pragma once

#include <utility>

#include "engine/listener.h"
#include "engine/observer.h"

namespace lockstep::interpreter {

struct Operation;

// Between before() and after() of one instruction of a wave.
class Told {
 public:
  // The wave has come to the instruction. `memory`: the first of its operations, if it is one that accesses
  // memory; else null. `wants_after`: of it.
  void begin(Listener& listener, const Wave& wave, const isa::Instruction& instruction, uint64_t pc,
             const Operation* memory, bool wants_after, bool goes_straight_on = false);
  // Whether go_on() has something to tell.
  bool is_open() const { return wants_after_; }
  // Likewise of one that goes straight on, of which nobody wants to know more, where none is open.
  void pass(Listener& listener, const Wave& wave, const isa::Instruction& instruction, uint64_t pc) {
    instruction_ = nullptr;
    accesses_.clear();
    listener.before({wave, instruction, pc, accesses_, true});
  }
  // It was executed, or wave.state says why not. Nothing if none was begun.
  void end(Listener& listener, const Wave& wave);
  // The wave goes on behind it: who does not want to be told of that need not hear of it.
  void go_on(Listener& listener, const Wave& wave) {
    if (wants_after_) end(listener, wave);
  }

 private:
  const isa::Instruction* instruction_ = nullptr;
  uint64_t pc_ = 0;
  bool wants_after_ = false;
  bool goes_straight_on_ = false;
  Accesses accesses_;
};

// The observer of a plain interpreter.
class Tap final : public Observer {
 public:
  explicit Tap(Listener& listener) : listener_(listener), looks_ahead_(listener.looks_ahead()) {}
  Wish wish_for(const isa::Instruction& instruction) override;
  Answer on_instruction(const Wave& wave, const isa::Instruction& instruction, uint64_t pc,
                        const void* known) override;
  void on_executed(const Wave& wave) override;
  void on_turn_over(const Wave& wave) override;
  // What the listener has to say about the instructions behind one that it was told of, or does not want, and
  // that goes straight on.
  uint64_t passes_until(const Wave& wave) const {
    return looks_ahead_ ? listener_.passes_until(wave) : ~uint64_t{0};
  }

 private:
  // Of any instruction.
  Answer tell(Told& instructions, const Wave& wave, const isa::Instruction& instruction, uint64_t pc,
              uintptr_t known);

  Listener& listener_;
  const bool looks_ahead_;
};

}  // namespace lockstep::interpreter
