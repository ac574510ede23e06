// Collects what vector ALU instructions raise in TRAPSTS.EXCP (guide 3.4.9): the union over the lanes that
// execute, sticky, whether MODE.EXCP_EN has it or not.
#pragma once

#include "engine/findings.h"
#include "engine/precise/traps.h"

namespace lockstep::precise {

class Exceptions final : public Unit {
 public:
  // Both must outlive the unit.
  Exceptions(Traps& traps, Findings& findings) : traps_(traps), findings_(findings) {}

  Verdict before(const Step& step) override;
  void after(const Step& step) override;

 private:
  Traps& traps_;
  Findings& findings_;
  uint32_t raised_ = 0;  // by the instruction in flight
};

// What the wave's instruction raises with the registers as they are: bits of TRAPSTS.EXCP.
uint32_t exceptions_of(const Wave& wave, const isa::Instruction& instruction);
// "inexact" for bit 5, and so on for bits 0 to 6.
const char* name_of_exception(unsigned bit);
// "inexact, overflow" for those bits; "a trap" for none.
std::string exception_names(uint32_t bits);

}  // namespace lockstep::precise
