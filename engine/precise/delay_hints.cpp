#include "engine/precise/delay_hints.h"

namespace lockstep::precise {

namespace {

// Fields of SIMM16 and their codes (table 19).
constexpr unsigned kSkipSame = 0, kSkipReserved = 6;
bool is_reserved_dependency(unsigned code) {
  return code == 8 || code > 11;
}

}  // namespace

Verdict DelayHints::before(const Step& step) {
  if (step.instruction.row->opcode != isa::Opcode::s_delay_alu) {
    if (instructions_left_ > 0) --instructions_left_;
    return Verdict::execute;
  }
  const auto hint = static_cast<uint32_t>(step.instruction.operands[0].value);
  const unsigned first = hint & 15, skip = hint >> 4 & 7, second = hint >> 7 & 15;
  const bool replaces = instructions_left_ > 0;
  // A second dependency that the same instruction has is used with the first one.
  instructions_left_ = skip == kSkipSame ? 1 : skip + 1;
  if (second == 0) instructions_left_ = first == 0 ? 0 : 1;
  if (is_reserved_dependency(first) || is_reserved_dependency(second) || skip >= kSkipReserved)
    return rules_.broken(
        step,
        "s_delay_alu with a reserved code (guide 5.7, table 19): dependencies are 0-7 and 9-11, "
        "skips 0-5");
  if (replaces)
    return rules_.broken(
        step,
        "s_delay_alu before the previous one was used up: it replaces what that one still had to "
        "say (guide 5.7); put both dependencies into one s_delay_alu");
  return Verdict::execute;
}

}  // namespace lockstep::precise
