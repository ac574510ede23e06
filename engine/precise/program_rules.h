// How a program must be written as a whole: what ends it, what stands behind its end, how far ahead it has
// its instructions fetched, for which hardware it says it is, and in which mode it may run. None of it
// changes a result here.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/precise/remembers.h"
#include "engine/precise/rule_book.h"
#include "memory/address_space.h"

namespace lockstep::precise {

// The pages that the code and what is mapped beside it lie in, in order, those that touch as one. Empty if
// `memory` is null: then all of the process's memory is mapped.
std::vector<CodeRange> mapped_pages(const std::vector<CodeRange>& code, const RangeSet* memory);

struct ProgramState {
  bool gave_vgprs_back_ = false;  // by the instruction before
  bool operator==(const ProgramState&) const = default;
};

class ProgramRules final : public Unit, public Remembers<ProgramState> {
 public:
  // `processor_mode`: WGP mode; `trap_handler`: where it begins, or 0; `pages`: of mapped_pages(); must
  // outlive the unit.
  ProgramRules(RuleBook rules, bool processor_mode, uint64_t trap_handler,
               const std::vector<CodeRange>& pages)
      : rules_(rules), processor_mode_(processor_mode), trap_handler_(trap_handler), pages_(pages) {}
  void launch(Wave& wave) override { entry_ = wave.pc; }
  Verdict before(const Step& step) override;
  void after(const Step& step) override;

  // Unless one of these is true, before() and after() do nothing.
  static bool concerns(const isa::Instruction& instruction);
  bool is_watching() const { return gave_vgprs_back_; }

 private:
  std::string broken_by(const Step& step) const;
  std::string fault_of_version(const Step& step) const;
  bool is_padded(uint64_t end) const;

  RuleBook rules_;
  const bool processor_mode_;
  const uint64_t trap_handler_;
  const std::vector<CodeRange>& pages_;
  uint64_t entry_ = 0;
};

}  // namespace lockstep::precise
