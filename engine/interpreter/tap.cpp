#include "engine/interpreter/tap.h"

#include "engine/interpreter/account.h"
#include "engine/interpreter/program.h"
#include "engine/straight.h"

namespace lockstep::interpreter {

namespace {

// A wave's turn is on one thread from its begin to its end, and no other wave's comes between.
Told& make_told() {
  static thread_local Told the_one;
  return the_one;
}

// Where the program's own variables are found without a call of the loader, even from a library.
[[gnu::tls_model("initial-exec")]] constinit thread_local Told* told_of_thread = nullptr;

Told& told() {
  if (!told_of_thread) told_of_thread = &make_told();
  return *told_of_thread;
}

// What is known of an instruction.
constexpr uintptr_t kWantsAfter = 1, kIsMemory = 2, kGoesStraightOn = 4;

}  // namespace

void Told::begin(Listener& listener, const Wave& wave, const isa::Instruction& instruction, uint64_t pc,
                 const Operation* memory, bool wants_after, bool goes_straight_on) {
  wants_after_ = wants_after;
  goes_straight_on_ = goes_straight_on;
  instruction_ = &instruction;
  pc_ = pc;
  // A wave that repeats an instruction it waited at was told of when it came to it.
  if (memory)
    find_accesses(memory, &const_cast<Wave&>(wave), accesses_);
  else
    accesses_.clear();
  if (wave.wait.kind == WaitKind::none) listener.before({wave, instruction, pc, accesses_, goes_straight_on});
}

void Told::end(Listener& listener, const Wave& wave) {
  if (!instruction_) return;
  const Event event{wave, *std::exchange(instruction_, nullptr), pc_, accesses_, goes_straight_on_};
  // Who does not want to know what comes behind one is told of its end late: the fault may be another's.
  if (wave.state == WaveState::faulted && wave.fault.pc == event.pc)
    listener.faulted(event);
  else if (wave.state != WaveState::faulted && wave.state != WaveState::blocked &&
           wave.state != WaveState::halted)
    listener.after(event);
}

// What may take the wave elsewhere, or end its turn, has nothing behind it: then the next call says that it
// is done.
Observer::Wish Tap::wish_for(const isa::Instruction& instruction) {
  if (!listener_.wants(instruction)) return {Calls::none};
  const bool wants_after = listener_.wants_after(instruction);
  const bool is_straight = goes_straight_on(instruction);
  const uintptr_t known = (wants_after ? kWantsAfter : 0) |
                          (isa::is_memory(instruction.row->encoding) ? kIsMemory : 0) |
                          (is_straight ? kGoesStraightOn : 0);
  return {wants_after ? Calls::before_and_behind : Calls::before, reinterpret_cast<const void*>(known),
          is_straight && !wants_after && listener_.may_pass(instruction)};
}

Observer::Answer Tap::on_instruction(const Wave& wave, const isa::Instruction& instruction, uint64_t pc,
                                     const void* known) {
  Told& instructions = told();
  const auto bits = reinterpret_cast<uintptr_t>(known);
  if ((bits & (kGoesStraightOn | kWantsAfter)) != kGoesStraightOn || instructions.is_open())
    return tell(instructions, wave, instruction, pc, bits);
  instructions.pass(listener_, wave, instruction, pc);
  return {.passes_until = looks_ahead_ ? listener_.passes_until(wave) : 0};
}

[[gnu::noinline]] Observer::Answer Tap::tell(Told& instructions, const Wave& wave,
                                             const isa::Instruction& instruction, uint64_t pc,
                                             uintptr_t known) {
  instructions.go_on(listener_, wave);
  const bool is_straight = known & kGoesStraightOn;
  instructions.begin(listener_, wave, instruction, pc, known & kIsMemory ? Program::observed() : nullptr,
                     known & kWantsAfter, is_straight);
  return {.passes_until = is_straight && looks_ahead_ ? listener_.passes_until(wave) : 0};
}

void Tap::on_executed(const Wave& wave) {
  told().end(listener_, wave);
}

void Tap::on_turn_over(const Wave& wave) {
  told().end(listener_, wave);
}

}  // namespace lockstep::interpreter
