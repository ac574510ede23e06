// The registers of a held wave as a debugger sees them.
#pragma once

#include <cstdint>

#include "engine/precise/host_control.h"
#include "state/wave.h"

namespace lockstep::machine {

enum class RegisterKind : uint8_t {
  pc,
  sgpr,  // 0 to 105
  vgpr,  // of one lane
  vcc,   // 64 bits; wave32 keeps its mask in the lower half
  m0,
  exec,
  scc,
  status,
  mode,
  trapsts,
  ttmp,  // 0 to 15, whether the wave is in its trap handler or not
};

struct RegisterName {
  RegisterKind kind = RegisterKind::pc;
  unsigned index = 0;  // of an SGPR, VGPR or TTMP
  unsigned lane = 0;   // of a VGPR
};

// Both throw std::invalid_argument for a register that the wave does not have.
uint64_t read_register(Wave& wave, RegisterName name);
// Throws std::invalid_argument for a value that the register cannot have. Bits that are not writable stay as
// they are: of STATUS those that a trap handler cannot write, HALT, which commands are for, and the
// priorities; of TRAPSTS the undefined ones.
void write_register(Wave& wave, precise::HostControl& control, RegisterName name, uint64_t value);

}  // namespace lockstep::machine
