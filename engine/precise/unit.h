// A part of the machine around the instruction: dependency counters, clauses, traps, the host's commands.
// Each wave has units of its own; what they share they are given when they are made.
#pragma once

#include <cstdint>
#include <span>

#include "engine/listener.h"
#include "isa/instruction.h"
#include "state/wave.h"

namespace lockstep::precise {

// What a unit decides about the instruction that a wave has come to.
enum class Verdict : uint8_t {
  execute,     // nothing against it
  handled,     // the unit has done it, or will do it later: the PC stands behind it already
  redirected,  // the PC is another one now: look at the instruction there
  stall,       // not now: the wave's turn ends; in the next one this unit is asked again, and those behind it
  stopped,     // the unit changed wave.state: the wave faulted, ended, or waits
};

struct Step {
  Wave& wave;
  const isa::Instruction& instruction;
  uint64_t pc;

  uint64_t next_pc() const { return pc + instruction.size; }
};

// What the instruction that a wave stands at is about to touch.
class AccessFinder {
 public:
  // Valid until the next question.
  virtual const Accesses& accesses(const Step& step) = 0;

 protected:
  ~AccessFinder() = default;
};

// Executes one instruction of a wave apart from the program's order, for units that put it off.
class Executor : public AccessFinder {
 public:
  // Runs the instruction at `pc` with the registers as they are, and leaves wave.pc as it was. False if it
  // faulted; then wave.state and wave.fault say so.
  virtual bool execute(Wave& wave, uint64_t pc) = 0;
  // The instruction at `pc` as it was executed there, whatever the guest has written to that place since.
  virtual const isa::Instruction& executed_at(const Wave& wave, uint64_t pc) = 0;
  // The wave goes on at `pc`, in its trap handler (STATUS.PRIV) or outside. False if there is no code: it
  // faults there when it runs on.
  virtual bool continue_at(Wave& wave, uint64_t pc, bool privileged) = 0;

 protected:
  ~Executor() = default;
};

class Unit {
 public:
  virtual ~Unit() = default;
  // A fresh wave, registers set, before its first instruction.
  virtual void launch(Wave&) {}
  // The wave has come to an instruction, wave.pc at it, nothing executed. Units are asked in order, until one
  // does not say execute. If that one says stall, all are asked again in the next turn: what counts
  // instructions counts them in after().
  virtual Verdict before(const Step&) { return Verdict::execute; }
  // It was executed or handled; wave.pc and wave.state are those that follow. May change them.
  virtual void after(const Step&) {}
  // Whether results of instructions that the unit has put off are still to come.
  virtual bool has_pending_results() const { return false; }
  // The wave waits or is held, and the host has made a request: makes it ready if it takes one now.
  virtual void interrupt(Wave&) {}
  // The wave faulted at wave.fault.pc, or the bytes there are no instruction. True if the unit took care:
  // wave.state is ready again and the wave goes on at wave.pc.
  virtual bool on_fault(Wave&) { return false; }
};

}  // namespace lockstep::precise
