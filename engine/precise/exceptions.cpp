#include "engine/precise/exceptions.h"

#include <bit>

#include "engine/precise/lane_sources.h"
#include "semantics/exceptions.h"
#include "state/trap_status.h"

namespace lockstep::precise {

uint32_t exceptions_of(const Wave& wave, const isa::Instruction& instruction) {
  // Most instructions raise none in any lane, and DX10_CLAMP silences the rest (guide 3.4.2).
  if (wave.mode & mode_bit::kDx10Clamp) return 0;
  uint32_t raised = 0;
  for (const bool y_half : {false, true}) {
    const isa::Row* row = y_half ? instruction.row_y : instruction.row;
    if (!row || !semantics::raises_exceptions(*row)) continue;
    const LaneReader reader(wave, instruction, y_half);
    for (uint64_t lanes = reader.lanes(); lanes != 0; lanes &= lanes - 1)
      raised |= semantics::exceptions_of(
          instruction, y_half, reader.sources(static_cast<unsigned>(std::countr_zero(lanes))), wave.mode);
  }
  return raised;
}

const char* name_of_exception(unsigned bit) {
  constexpr const char* kNames[] = {"invalid",   "input denormal", "divide by zero",        "overflow",
                                    "underflow", "inexact",        "integer divide by zero"};
  return bit < std::size(kNames) ? kNames[bit] : "unknown exception";
}

std::string exception_names(uint32_t bits) {
  std::string names;
  for (; bits != 0; bits &= bits - 1)
    names += (names.empty() ? "" : ", ") +
             std::string(name_of_exception(static_cast<unsigned>(std::countr_zero(bits))));
  return names.empty() ? "a trap" : names;
}

Verdict Exceptions::before(const Step& step) {
  raised_ = exceptions_of(step.wave, step.instruction);
  return Verdict::execute;
}

void Exceptions::after(const Step& step) {
  if (raised_ == 0) return;
  traps_.raise(step.wave, raised_);
  for (uint32_t bits = raised_; bits != 0; bits &= bits - 1)
    findings_.add_exception(step.wave, step.pc,
                            name_of_exception(static_cast<unsigned>(std::countr_zero(bits))));
  raised_ = 0;
}

}  // namespace lockstep::precise
