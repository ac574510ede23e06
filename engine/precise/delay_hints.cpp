#include "engine/precise/delay_hints.h"

namespace lockstep::precise {

namespace {

// Fields of SIMM16 and their codes (table 19).
constexpr unsigned kSkipSame = 0, kSkipReserved = 6;
bool is_reserved_dependency(unsigned code) {
  return code == 8 || code > 11;
}

struct Hint {
  unsigned first, skip, second;
  explicit Hint(const isa::Instruction& instruction) {
    const auto field = static_cast<uint32_t>(instruction.operands[0].value);
    first = field & 15, skip = field >> 4 & 7, second = field >> 7 & 15;
  }
};

}  // namespace

Verdict DelayHints::before(const Step& step) {
  // Compilers place hints without regard to calls: the hint of a caller may reach over one, and the callee
  // has its own (LLVM 19, AMDGPUInsertDelayAlu, counts what stands between the two in the block).
  if (step.pc != next_pc_) instructions_left_ = 0;
  if (step.instruction.row->opcode != isa::Opcode::s_delay_alu) return Verdict::execute;
  const Hint hint(step.instruction);
  if (is_reserved_dependency(hint.first) || is_reserved_dependency(hint.second) || hint.skip >= kSkipReserved)
    return rules_.broken(
        step,
        "s_delay_alu with a reserved code (guide 5.7, table 19): dependencies are 0-7 and 9-11, "
        "skips 0-5");
  // LLVM 17 writes this, where it counts what is no instruction in the end.
  if (instructions_left_ > 0)
    rules_.doubted(step,
                   "s_delay_alu before the previous one was used up: it replaces what that one still had to "
                   "say (guide 5.7); put both dependencies into one s_delay_alu");
  return Verdict::execute;
}

void DelayHints::after(const Step& step) {
  next_pc_ = step.next_pc();
  if (step.instruction.row->opcode != isa::Opcode::s_delay_alu) {
    if (instructions_left_ > 0) --instructions_left_;
    return;
  }
  const Hint hint(step.instruction);
  // A second dependency that the same instruction has is used with the first one.
  instructions_left_ = hint.skip == kSkipSame ? 1 : hint.skip + 1;
  if (hint.second == 0) instructions_left_ = hint.first == 0 ? 0 : 1;
}

}  // namespace lockstep::precise
