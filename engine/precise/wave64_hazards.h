// Two hazards of waves of 64, which the hardware does not look for and compilers wait for: results of vector
// instructions on both sides of a change of EXEC (LLVM: VALUPartialForwardingHazard), and a lane mask that
// the scalar ALU replaces while a vector instruction may still be reading it (VALUMaskWriteHazard). Here they
// change nothing.
#pragma once

#include <array>
#include <bitset>
#include <string>

#include "engine/precise/rule_book.h"
#include "isa/effects.h"

namespace lockstep::precise {

class Wave64Hazards final : public Unit {
 public:
  explicit Wave64Hazards(RuleBook rules) : rules_(rules) {}
  Verdict before(const Step& step) override;
  void after(const Step& step) override;

 private:
  static constexpr unsigned kScalars = 128;
  // Vector instructions between the two results, not counting those behind the second one; and behind that
  // one.
  static constexpr uint64_t kMostAroundExec = 2, kMostBehind = 4;
  static constexpr size_t kExecWrites = 8;
  static constexpr uint64_t kNever = 0;

  std::string partial_forwarding(const Step& step) const;
  std::string replaced_mask(const Step& step) const;
  void note_vector_alu(const isa::Instruction& instruction);
  void note_scalar_alu(const isa::Instruction& instruction);
  void forget();

  RuleBook rules_;
  uint64_t vector_alus_ = 0;                      // executed; the first one has number 1
  uint64_t complete_ = 0;                         // of those: their results have landed
  std::array<uint64_t, kMaxVgprs> written_by_{};  // the vector instruction that wrote each VGPR last
  // How many had been executed when the scalar ALU wrote EXEC, the newest last: a ring.
  std::array<uint64_t, kExecWrites> exec_writes_{};
  size_t exec_write_ = 0;
  uint64_t last_exec_write_ = kNever;
  std::bitset<kScalars> masks_;     // that vector instructions may still be reading
  std::bitset<kScalars> replaced_;  // of them: by the scalar ALU
};

}  // namespace lockstep::precise
