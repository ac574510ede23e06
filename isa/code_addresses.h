// Addresses that code makes of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isa/instruction.h"

namespace lockstep::isa {

// Register pairs that hold addresses of the code: s_getpc_b64, and a sum with a distance that the linker has
// put in, low half first, as compilers write calls and long branches.
class CodeAddresses {
 public:
  std::optional<uint64_t> find(uint16_t pair) const;
  // Follows an instruction, behind which is `next`. Gives back the address that it has completed by a sum.
  std::optional<uint64_t> note(const Instruction& instruction, uint64_t next, unsigned wave_size);

 private:
  struct Known {
    uint16_t pair;
    uint64_t address;
    std::optional<uint32_t> low;  // that was added to the low half, and not yet to the high one
    uint16_t high;                // then: the register that has the high half
  };
  std::vector<Known> list_;
};

}  // namespace lockstep::isa
