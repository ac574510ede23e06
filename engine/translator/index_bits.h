// Which bits a register may have, as far as the block tells: bytes that were loaded, masks and shifts say
// that an index is of a small table.
#pragma once

#include <cstdint>

#include "engine/translator/routine.h"

namespace lockstep::translator {

// Of a VGPR before node `index`, in the lanes that are on there; `first`: the first node of its block.
uint32_t possible_bits(const Routine& routine, unsigned first, unsigned index, unsigned vgpr);

// Of what the address of a GLOBAL access adds to the base that all lanes have, which are two SGPRs of the
// instruction or of the sum that its pair of VGPRs is.
uint32_t possible_offset_bits(const Routine& routine, unsigned first, unsigned index);

}  // namespace lockstep::translator
