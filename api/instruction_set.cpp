// What is known of every instruction: the rows of isa/ with the doubts of semantics/.
#include "api/instruction_set.h"

#include "api/status.h"
#include "engine/coverage.h"
#include "engine/interpreter/interpreter.h"
#include "isa/row.h"

namespace lockstep::api {

lockstep_fidelity fidelity_of(semantics::Fidelity fidelity) {
  switch (fidelity) {
    case semantics::Fidelity::exact:
      return LOCKSTEP_FIDELITY_EXACT;
    case semantics::Fidelity::bounded:
      return LOCKSTEP_FIDELITY_BOUNDED;
    case semantics::Fidelity::open:
      return LOCKSTEP_FIDELITY_OPEN;
    case semantics::Fidelity::unsupported:
      return LOCKSTEP_FIDELITY_UNSUPPORTED;
  }
  return LOCKSTEP_FIDELITY_OPEN;
}

}  // namespace lockstep::api

using namespace lockstep;
using namespace lockstep::api;

uint32_t lockstep_isa_row_count(void) {
  return static_cast<uint32_t>(isa::rows().size());
}

lockstep_status lockstep_isa_row(uint32_t index, lockstep_isa_row_info* out) {
  return guarded([&] {
    require(index < isa::rows().size(), "there is no instruction of that index (see lockstep_isa_row_count)");
    const isa::Row& row = isa::rows()[index];
    const semantics::Doubt doubt = semantics::doubt_of(row);
    lockstep_isa_row_info info{};
    info.encoding = text_of(isa::name(row.encoding));
    info.number = row.number;
    info.mnemonic = text_of(row.name);
    info.implemented = interpreter::has_handler(row);
    info.fidelity = fidelity_of(doubt.fidelity);
    info.corner_cases_only = doubt.concern == semantics::Concern::corner_cases;
    info.ulp = doubt.ulp;
    info.note = text_of(doubt.note);
    info.executed = was_executed(row);
    give(out, info);
  });
}

uint32_t lockstep_isa_form_count(void) {
  return static_cast<uint32_t>(std::size(semantics::form_doubts));
}

lockstep_status lockstep_isa_form(uint32_t index, lockstep_isa_form_info* out) {
  return guarded([&] {
    require(index < std::size(semantics::form_doubts),
            "there is no form of that index (see lockstep_isa_form_count)");
    const semantics::FormDoubt& form = semantics::form_doubts[index];
    lockstep_isa_form_info info{};
    info.name = text_of(form.form);
    info.fidelity = fidelity_of(form.doubt.fidelity);
    info.corner_cases_only = form.doubt.concern == semantics::Concern::corner_cases;
    info.note = text_of(form.doubt.note);
    give(out, info);
  });
}
