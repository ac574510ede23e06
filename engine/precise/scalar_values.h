// The scalar values that a vector instruction reads: SGPRs, VCC, M0, EXEC, SCC and the literal
// (guide 7.2.2.3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/instruction.h"

namespace lockstep::precise {

struct ScalarValue {
  uint16_t code = 0;
  uint8_t bytes = 4;     // of the operand that reads it: a literal read in two sizes counts twice
  bool is_mask = false;  // in wave64 the second pass reads it one register further: shared with no data
};

class ScalarValues {
 public:
  void add(const ScalarValue& value) { list_.push_back(value); }
  unsigned count() const { return static_cast<unsigned>(list_.size()); }
  // Each once. s[2n] and s[2n:2n+1] are one value, s[2n+1] and s[2n:2n+1] are two.
  ScalarValues different() const;
  const std::vector<ScalarValue>& list() const { return list_; }
  // "s4, vcc and the literal"
  std::string text() const;

 private:
  std::vector<ScalarValue> list_;
};

// Of the operands [first, last), a VOPD half's or all, and VCC where it is read without being named.
ScalarValues scalar_values(const isa::Instruction& instruction, unsigned first, unsigned last,
                           unsigned wave_size);

}  // namespace lockstep::precise
