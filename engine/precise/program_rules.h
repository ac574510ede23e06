// How a program must be written as a whole: what ends it, what stands behind its end, and how far ahead it
// has its instructions fetched, and in which mode it may run. None of it changes a result here.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/precise/rule_book.h"
#include "memory/address_space.h"

namespace lockstep::precise {

// The pages that the code and what is mapped beside it lie in, in order, those that touch as one. Empty if
// `memory` is null: then all of the process's memory is mapped.
std::vector<CodeRange> mapped_pages(const std::vector<CodeRange>& code, const RangeSet* memory);

class ProgramRules final : public Unit {
 public:
  // `processor_mode`: WGP mode; `pages`: of mapped_pages(); must outlive the unit.
  ProgramRules(RuleBook rules, bool processor_mode, const std::vector<CodeRange>& pages)
      : rules_(rules), processor_mode_(processor_mode), pages_(pages) {}
  Verdict before(const Step& step) override;
  void after(const Step& step) override;

 private:
  std::string broken_by(const Step& step) const;
  bool is_padded(uint64_t end) const;

  RuleBook rules_;
  const bool processor_mode_;
  const std::vector<CodeRange>& pages_;
  bool gave_vgprs_back_ = false;  // by the instruction before
};

}  // namespace lockstep::precise
