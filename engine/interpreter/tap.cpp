#include "engine/interpreter/tap.h"

#include "engine/interpreter/account.h"
#include "engine/interpreter/program.h"

namespace lockstep::interpreter {

namespace {

// A wave's turn is on one thread from its begin to its end, and no other wave's comes between.
Told& told() {
  static thread_local Told the_one;
  return the_one;
}

}  // namespace

void Told::begin(Listener& listener, const Wave& wave, const isa::Instruction& instruction, uint64_t pc) {
  instruction_ = &instruction;
  pc_ = pc;
  // A wave that repeats an instruction it waited at was told of when it came to it.
  if (isa::is_memory(instruction.row->encoding))
    find_accesses(program_of(&wave)->at(pc), &const_cast<Wave&>(wave), accesses_);
  else
    accesses_.clear();
  if (wave.wait.kind == WaitKind::none) listener.before({wave, instruction, pc, accesses_});
}

void Told::end(Listener& listener, const Wave& wave) {
  if (!instruction_) return;
  const Event event{wave, *std::exchange(instruction_, nullptr), pc_, accesses_};
  // Who does not want to know what comes behind one is told of its end late: the fault may be another's.
  if (wave.state == WaveState::faulted && wave.fault.pc == event.pc)
    listener.faulted(event);
  else if (wave.state != WaveState::faulted && wave.state != WaveState::blocked &&
           wave.state != WaveState::halted)
    listener.after(event);
}

// What may take the wave elsewhere, or end its turn, has nothing behind it: then the next call says that it
// is done.
Observer::Calls Tap::calls_for(const isa::Instruction& instruction) const {
  return !listener_.wants(instruction)        ? Calls::none
         : listener_.wants_after(instruction) ? Calls::before_and_behind
                                              : Calls::before;
}

bool Tap::on_instruction(const Wave& wave, const isa::Instruction& instruction, uint64_t pc) {
  told().end(listener_, wave);
  told().begin(listener_, wave, instruction, pc);
  return true;
}

void Tap::on_executed(const Wave& wave) {
  told().end(listener_, wave);
}

void Tap::on_turn_over(const Wave& wave) {
  told().end(listener_, wave);
}

}  // namespace lockstep::interpreter
