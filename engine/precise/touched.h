// The registers that an instruction reads and writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/instruction.h"
#include "state/wave.h"

namespace lockstep::precise {

// `count` registers from operand code `first`: 0 to 127 scalar, from 256 on VGPRs.
struct RegisterRange {
  uint16_t first = 0, count = 0;

  bool is_vgpr() const { return first >= isa::code::kVgpr0; }
  unsigned end() const { return first + count; }
  bool overlaps(const RegisterRange& other) const { return first < other.end() && other.first < end(); }
};

struct Touched {
  std::vector<RegisterRange> reads, writes;
};

// "v4", "s[4:5]", "vcc"
std::string name(const RegisterRange& range);

// Operands and the registers implied: EXEC, VCC and M0. Registers that M0 chooses at run time are not among
// them.
Touched touched_by(const isa::Instruction& instruction, unsigned wave_size);
// As the wave comes to it: with the registers that M0 chooses in place of those that the operands name.
Touched touched_now(const isa::Instruction& instruction, const Wave& wave);

}  // namespace lockstep::precise
