// What units do with a broken rule: nothing, a finding, or a fault, as the settings say.
#pragma once

#include <string>

#include "engine/findings.h"
#include "engine/precise/settings.h"
#include "engine/precise/unit.h"

namespace lockstep::precise {

class RuleBook {
 public:
  RuleBook(Rules rules, Findings& findings) : rules_(rules), findings_(findings) {}
  // Whether units should look for broken rules at all.
  bool is_open() const { return rules_ != Rules::ignore; }
  // The instruction breaks a rule: `text` says which, where the guide has it, and how to mend it. Returns
  // what the unit's before() must return: execute, or stopped if the wave faulted.
  Verdict broken(const Step& step, std::string text) const;
  // Likewise where a register is used before the program has waited for it.
  Verdict missed_wait(const Step& step, std::string text) const;
  // It breaks a rule of the guide that LLVM's code does not keep either, on cards: told, but never a fault.
  void doubted(const Step& step, std::string text) const;

 private:
  Verdict report(const char* checker, const Step& step, std::string text) const;

  Rules rules_;
  Findings& findings_;
};

}  // namespace lockstep::precise
