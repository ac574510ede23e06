// Why a wave stopped before its end.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

enum class FaultKind : uint8_t {
  none,
  memory_violation,     // an address outside every mapped range, or without the right to access it
  misaligned,           // an atomic or access whose address the alignment mode forbids
  illegal_instruction,  // bytes that are no instruction, or a use that the guide forbids
  unsupported,          // an instruction that this machine does not execute yet
  bad_pc,               // execution left the code
  refused,              // the machine answered with a NACK, and nobody resumed the wave
  deadlock,             // the wave waits for others, and none is left that could release it
  broken_rule,          // a programming rule of the guide, where the user asked to have them checked
  trap,                 // s_trap with a non-zero id and no trap handler
};

struct Fault {
  FaultKind kind = FaultKind::none;
  uint64_t pc = 0;       // guest address of the instruction
  int lane = -1;         // -1: the whole wave
  uint64_t address = 0;  // memory faults: the guest address
  uint32_t bytes = 0;    // memory faults: size of the access
  std::string message;   // what happened and how to mend it
};

}  // namespace lockstep
