#include "observe/fidelity/fidelity.h"

#include <bit>

#include "semantics/fast_math.h"

namespace lockstep::observe {

Sources FidelityListener::finding(std::string_view name, const semantics::Doubt& doubt, uint64_t pc) {
  for (size_t i = 0; i < findings_.size(); ++i)
    if (findings_[i].name == name) return Sources{1} << i;
  if (findings_.size() == kMostFindings) return Sources{1} << (kMostFindings - 1);
  Finding& added = findings_.emplace_back();
  added.first_pc = pc;
  if (findings_.size() < kMostFindings) {
    added.name = name;
    added.doubt = doubt;
  } else {
    added.name = "further instructions";
    added.doubt = {semantics::Fidelity::open, semantics::Concern::results, 0,
                   "more than 63 kinds of instructions are not exact; these are the rest"};
  }
  return Sources{1} << (findings_.size() - 1);
}

FidelityListener::Own FidelityListener::own_of(const isa::Instruction& instruction, uint64_t pc) {
  const auto [entry, is_new] = own_.try_emplace(&instruction);
  if (!is_new) return entry->second;
  auto of_row = [&](const isa::Row& row) -> Sources {
    const semantics::Doubt doubt =
        math_ == Math::fast ? semantics::fast::doubt_of(row) : semantics::doubt_of(row);
    return doubt.fidelity == semantics::Fidelity::exact ? 0 : finding(row.name, doubt, pc);
  };
  Own own;
  own.x = of_row(*instruction.row);
  if (instruction.row_y) own.y = of_row(*instruction.row_y);
  if (const semantics::FormDoubt* form = semantics::form_doubt_of(instruction))
    own.x |= finding(form->form, form->doubt, pc);
  return entry->second = own;
}

void FidelityListener::before(const Event& event) {
  const uint64_t pc = event.pc;
  ++instructions_;
  const Own own = own_of(event.instruction, pc);
  for (Sources left = own.x | own.y; left != 0; left &= left - 1)
    ++findings_[std::countr_zero(left)].executions;
  const Taint::Use use = taint_.follow(event, own.x, own.y);
  const Sources used[kSinks] = {use.address, use.branch, use.memory};
  for (unsigned sink = 0; sink < kSinks; ++sink)
    for (Sources left = used[sink]; left != 0; left &= left - 1) {
      Finding& finding = findings_[std::countr_zero(left)];
      if (finding.uses[sink]++ == 0) finding.use_pc[sink] = pc;
    }
}

std::vector<Finding> FidelityListener::findings() const {
  std::vector<Finding> sorted;
  for (const semantics::Concern concern : {semantics::Concern::results, semantics::Concern::corner_cases})
    for (const Finding& finding : findings_)
      if (finding.doubt.concern == concern) sorted.push_back(finding);
  return sorted;
}

}  // namespace lockstep::observe
