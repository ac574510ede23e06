// Instructions made from the rows of isa/: the encoding's fixed bits and the row's number, the rest at
// random.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "isa/instruction.h"

namespace lockstep::interpreter {

using Random = std::mt19937_64;

struct Encoded {
  std::vector<uint32_t> words;
  isa::Instruction instruction;
};

// An instruction of the row that decodes in this wave size, and to this row, or nothing if none was found.
// `plain`: VGPRs 0 to 15 and SGPRs 0 to 15 where the fields allow it, no modifiers, no literals, no DPP.
std::optional<Encoded> random_instruction(const isa::Row& row, unsigned wave_size, Random& random,
                                          bool plain = false);

}  // namespace lockstep::interpreter
