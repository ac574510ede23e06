// s_clause (guide 5.2 and 16.5): never changes a result here, but what stands in a clause must be of one
// type.
#pragma once

#include <string>

#include "engine/precise/remembers.h"
#include "engine/precise/rule_book.h"
#include "engine/precise/wait_rules.h"

namespace lockstep::precise {

struct ClauseState {
  enum class Stage : uint8_t { outside, announced, inside };

  Stage stage_ = Stage::outside;
  isa::Clause type_ = isa::Clause::none;
  unsigned length_ = 0, span_ = 0;   // as the s_clause says; span 0: no breaks
  unsigned position_ = 0;            // of the next instruction in the clause
  unsigned of_type_ = 0;             // instructions of the clause's type in the present group
  uint64_t next_pc_ = 0;             // where the clause goes on; elsewhere it is broken
  uint64_t told_pc_ = ~uint64_t{0};  // instruction whose broken rule is written down already
  bool operator==(const ClauseState&) const = default;
};

class ClauseRules final : public Unit, public Remembers<ClauseState> {
 public:
  // `waits`: of the same wave; must outlive the unit. Null: no instruction is skipped.
  ClauseRules(RuleBook rules, const WaitRules* waits) : rules_(rules), waits_(waits) {}
  Verdict before(const Step& step) override;
  void after(const Step& step) override;
  // Unless one of these is true, before() and after() do nothing.
  static bool concerns(const isa::Instruction& instruction) {
    return instruction.row->opcode == isa::Opcode::s_clause;
  }
  bool is_inside() const { return stage_ != Stage::outside; }
  // A command of the host ends the clause (guide 5.2.1).
  void break_clause() { stage_ = Stage::outside; }

 private:
  // Both leave everything as it is: an instruction that stalls is looked at again.
  std::string fault_of(const Step& step) const;
  std::string fault_of_announcement(const Step& step) const;

  void begin(const Step& step);
  void announce(const Step& step);

  RuleBook rules_;
  const WaitRules* const waits_;
};

}  // namespace lockstep::precise
