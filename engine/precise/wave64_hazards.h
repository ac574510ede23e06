// Two hazards of waves of 64, which the hardware does not look for and compilers wait for: results of vector
// instructions on both sides of a change of EXEC (LLVM: VALUPartialForwardingHazard), and a lane mask that
// the scalar ALU replaces while a vector instruction may still be reading it (VALUMaskWriteHazard). Here they
// change nothing.
#pragma once

#include <array>
#include <bitset>
#include <string>

#include "engine/precise/remembers.h"
#include "engine/precise/rule_book.h"
#include "isa/effects.h"

namespace lockstep::precise {

struct Wave64State {
  // Vector instructions between the two results, not counting those behind the second one; and behind that
  // one.
  static constexpr size_t kMostAroundExec = 2, kMostBehind = 4;
  static constexpr size_t kMostMade = kMostAroundExec + kMostBehind + 2;
  static constexpr unsigned kScalars = 128;

  // The last vector instructions whose results may not have landed, the newest first.
  std::array<const isa::Instruction*, kMostMade> made_{};
  // Bit n: the scalar ALU has written EXEC behind n of them, counted from the newest on.
  uint32_t exec_writes_ = 0;
  std::bitset<kScalars> masks_;     // that vector instructions may still be reading
  std::bitset<kScalars> replaced_;  // of them: by the scalar ALU
  bool operator==(const Wave64State&) const = default;
};

class Wave64Hazards final : public Unit, public Remembers<Wave64State> {
 public:
  explicit Wave64Hazards(RuleBook rules) : rules_(rules) {}
  Verdict before(const Step& step) override;
  void after(const Step& step) override;

 private:
  std::string partial_forwarding(const Step& step) const;
  std::string replaced_mask(const Step& step) const;
  // How many vector instructions ago a register was written; kMostMade: it has landed.
  size_t made_before(const isa::Operand& operand) const;
  void note_vector_alu(const isa::Instruction& instruction);
  void note_scalar_alu(const isa::Instruction& instruction);
  void complete();
  void forget();

  RuleBook rules_;
};

}  // namespace lockstep::precise
