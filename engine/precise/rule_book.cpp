#include "engine/precise/rule_book.h"

namespace lockstep::precise {

void RuleBook::doubted(const Step& step, std::string text) const {
  if (rules_ == Rules::warn) tell("legality", step, std::move(text), Severity::note);
}

void RuleBook::tell_again(const Wave& wave, const ToldRule& rule) const {
  FindingDetail detail;
  detail.severity = rule.severity;
  findings_.add(rule.checker, wave, rule.pc, rule.text, std::move(detail));
}

void RuleBook::tell(const char* checker, const Step& step, std::string text, Severity severity) const {
  if (told_) told_->push_back({step.pc, checker, text, severity});
  FindingDetail detail;
  detail.severity = severity;
  findings_.add(checker, step.wave, step.pc, std::move(text), std::move(detail));
}

Verdict RuleBook::broken(const Step& step, std::string text) const {
  return report("legality", step, std::move(text));
}

Verdict RuleBook::missed_wait(const Step& step, std::string text) const {
  return report("waits", step, std::move(text));
}

Verdict RuleBook::report(const char* checker, const Step& step, std::string text) const {
  if (rules_ == Rules::ignore) return Verdict::execute;
  if (rules_ == Rules::warn) {
    tell(checker, step, std::move(text), FindingDetail{}.severity);
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
