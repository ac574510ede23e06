// What an instruction may not be given although its encoding has room for it (guide 3.4, 5.1, 6.2, 7.2, 7.6):
// rules that the instruction, the size of the wave and M0 decide.
#pragma once

#include "engine/precise/rule_book.h"

namespace lockstep::precise {

class OperandRules final : public Unit {
 public:
  explicit OperandRules(RuleBook rules) : rules_(rules) {}
  Verdict before(const Step& step) override;

 private:
  RuleBook rules_;
};

}  // namespace lockstep::precise
