// s_delay_alu (guide 5.7, table 19): never changes a result, but may be written wrongly.
#pragma once

#include "engine/precise/remembers.h"
#include "engine/precise/rule_book.h"

namespace lockstep::precise {

struct DelayHintsState {
  unsigned instructions_left_ = 0;  // until the last hint's second dependency is used
  uint64_t next_pc_ = 0;            // in straight-line code
  bool operator==(const DelayHintsState&) const = default;
};

class DelayHints final : public Unit, public Remembers<DelayHintsState> {
 public:
  explicit DelayHints(RuleBook rules) : rules_(rules) {}
  Verdict before(const Step& step) override;
  void after(const Step& step) override;

  // Unless one of these is true, before() and after() do nothing.
  static bool concerns(const isa::Instruction& instruction) {
    return instruction.row->opcode == isa::Opcode::s_delay_alu;
  }
  bool is_counting() const { return instructions_left_ > 0; }

 private:
  RuleBook rules_;
};

}  // namespace lockstep::precise
