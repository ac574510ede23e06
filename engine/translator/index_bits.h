// Which bits a register may have, as far as the block tells: bytes that were loaded, masks and shifts say
// that an index is of a small table.
#pragma once

#include <cstdint>

#include "engine/translator/liveness.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

// Of what the address of the GLOBAL access, node `index`, adds to the base that all lanes have, which are two
// SGPRs of the instruction or of the sum that its pair of VGPRs is; of a DS access's address, without its
// constant offset. In the lanes that are on there. `first`: the first node of its block.
uint32_t possible_offset_bits(const Routine& routine, const Facts& facts, unsigned first, unsigned index);

}  // namespace lockstep::translator
