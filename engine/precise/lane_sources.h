// What each lane of a vector ALU instruction reads, as the interpreter will fetch it.
#pragma once

#include <cstdint>

#include "isa/instruction.h"
#include "semantics/exceptions.h"
#include "state/wave.h"

namespace lockstep::precise {

// Reads the registers as they are before the instruction executes.
class LaneReader {
 public:
  // `y_half`: of the Y half of a VOPD pair.
  LaneReader(const Wave& wave, const isa::Instruction& instruction, bool y_half);

  // The lanes that execute: EXEC, and of them those that DPP lets write. None if the instruction does
  // nothing: a destination out of range, dual issue in wave64.
  uint64_t lanes() const { return lanes_; }
  // Of one of those lanes.
  semantics::LaneSources sources(unsigned lane) const;

 private:
  uint64_t read(const isa::Operand& operand, unsigned lane) const;
  void choose_lanes();
  // Where DPP takes the lane's source 0 from: a lane, or -1 for a zero.
  int dpp_source(unsigned lane) const;

  const Wave& wave_;
  const isa::Instruction& instruction_;
  unsigned first_ = 0, end_ = 0;  // operands
  uint64_t lanes_ = 0;
};

}  // namespace lockstep::precise
