// What units do with a broken rule: nothing, a finding, or a fault, as the settings say.
#pragma once

#include <string>
#include <vector>

#include "engine/findings.h"
#include "engine/precise/settings.h"
#include "engine/precise/unit.h"

namespace lockstep::precise {

// What was told of the instruction at `pc`.
struct ToldRule {
  uint64_t pc;
  const char* checker;
  std::string text;
  Severity severity;
};

class RuleBook {
 public:
  // `told`: gets what is told, too, and must outlive this; or null.
  RuleBook(Rules rules, Findings& findings, std::vector<ToldRule>* told = nullptr)
      : rules_(rules), findings_(findings), told_(told) {}
  // Whether units should look for broken rules at all.
  bool is_open() const { return rules_ != Rules::ignore; }
  // The instruction breaks a rule: `text` says which, where the guide has it, and how to mend it. Returns
  // what the unit's before() must return: execute, or stopped if the wave faulted.
  Verdict broken(const Step& step, std::string text) const;
  // Likewise where a register is used before the program has waited for it.
  Verdict missed_wait(const Step& step, std::string text) const;
  // It breaks a rule of the guide that LLVM's code does not keep either, on cards: told, but never a fault.
  void doubted(const Step& step, std::string text) const;
  // What was told before, of another wave, or the last time around.
  void tell_again(const Wave& wave, const ToldRule& rule) const;

 private:
  Verdict report(const char* checker, const Step& step, std::string text) const;
  void tell(const char* checker, const Step& step, std::string text, Severity severity) const;

  Rules rules_;
  Findings& findings_;
  std::vector<ToldRule>* told_;
};

}  // namespace lockstep::precise
