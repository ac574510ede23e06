// Numbers for all registers of a wave, so that analyses can keep sets of them.
#pragma once

#include <bitset>

#include "isa/instruction.h"

namespace lockstep::translator {

inline constexpr unsigned kVgprs = 256;
inline constexpr unsigned kFirstScalar = kVgprs;  // + operand code 0..127
inline constexpr unsigned kScc = kFirstScalar + 128;
inline constexpr unsigned kRegisters = kScc + 1;

using RegisterSet = std::bitset<kRegisters>;

// v0 holds the work-item ids at entry.
inline constexpr unsigned kIdRegister = 0;

constexpr unsigned scalar_register(unsigned code) {
  return kFirstScalar + code;
}
constexpr bool is_vgpr(unsigned number) {
  return number < kVgprs;
}
inline const RegisterSet& all_vgprs() {
  static const RegisterSet vgprs = ~(~RegisterSet() << kVgprs);
  return vgprs;
}
// Masks of lanes: one register in wave32; in wave64 the one behind it belongs to them, too.
inline constexpr unsigned kExec = scalar_register(isa::code::kExecLo);
inline constexpr unsigned kVcc = scalar_register(isa::code::kVccLo);

}  // namespace lockstep::translator
