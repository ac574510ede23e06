#include "engine/precise/rule_book.h"

namespace lockstep::precise {

void RuleBook::doubted(const Step& step, std::string text) const {
  if (rules_ == Rules::warn) findings_.add("rules", step.wave, step.pc, std::move(text));
}

Verdict RuleBook::broken(const Step& step, std::string text) const {
  if (rules_ == Rules::ignore) return Verdict::execute;
  if (rules_ == Rules::warn) {
    findings_.add("rules", step.wave, step.pc, std::move(text));
    return Verdict::execute;
  }
  Fault fault;
  fault.kind = FaultKind::broken_rule;
  fault.pc = step.pc;
  fault.message = std::move(text);
  step.wave.fault = std::move(fault);
  step.wave.state = WaveState::faulted;
  return Verdict::stopped;
}

}  // namespace lockstep::precise
