#include "engine/interpreter/interpreter.h"

#include <stdexcept>

#include "engine/interpreter/registration.h"
#include "numeric/float_mode.h"

namespace lockstep::interpreter {

HostTarget best_host_target() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) return HostTarget::x86_64_v4;
  if (__builtin_cpu_supports("x86-64-v3")) return HostTarget::x86_64_v3;
  throw std::runtime_error("this processor is too old: Lockstep needs AVX2, FMA and F16C (x86-64-v3)");
}

const HandlerTable& handlers(HostTarget target) {
#define LOCKSTEP_CALL_V3(family) register_##family##_v3(table);
#define LOCKSTEP_CALL_V4(family) register_##family##_v4(table);
  if (target == HostTarget::x86_64_v4) {
    static const HandlerTable table = [] {
      HandlerTable table;
      LOCKSTEP_FAMILIES(LOCKSTEP_CALL_V4)
      return table;
    }();
    return table;
  }
  static const HandlerTable table = [] {
    HandlerTable table;
    LOCKSTEP_FAMILIES(LOCKSTEP_CALL_V3)
    return table;
  }();
  return table;
}

Interpreter::Interpreter(std::vector<CodeRange> code, unsigned wave_size,
                         std::shared_ptr<const RangeSet> memory, HostTarget target)
    : memory_(std::move(memory)),
      context_{memory_.get()},
      default_mode_(code, wave_size, true, handlers(target)),
      other_mode_(code, wave_size, false, handlers(target)) {
  default_mode_.other_mode = &other_mode_;
  other_mode_.other_mode = &default_mode_;
}

bool Interpreter::enter(Wave& wave, uint64_t pc) {
  Program& program = (wave.mode & kFloatModeMask) == kDefaultFloatMode ? default_mode_ : other_mode_;
  wave.program = &program;
  wave.dispatch = &context_;
  wave.pc = pc;
  return program.at(pc) != nullptr;
}

int64_t Interpreter::run(Wave& wave, int64_t budget) {
  const Operation* op = program_of(&wave)->at(wave.pc);
  wave.turn_budget = budget;
  op->run(op, &wave, budget);
  const int64_t executed = budget - wave.budget;
  wave.executed_before_turn += executed;
  return executed;
}

}  // namespace lockstep::interpreter
