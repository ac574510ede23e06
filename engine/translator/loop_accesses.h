// Accesses of memory in loops: what their addresses come from.
#pragma once

#include <vector>

#include "engine/translator/routine.h"

namespace lockstep::translator {

struct LoopAccess {
  unsigned node, block;
  bool moves = false;           // the loop writes a register that the address is in
  bool is_loaded = false;       // the address in VGPRs comes from what the loop's own loads brought
  bool base_is_loaded = false;  // likewise in SGPRs
};

// GLOBAL and FLAT accesses of a piece in the smallest loop that each is in.
std::vector<LoopAccess> find_loop_accesses(const Routine& routine, unsigned piece);

}  // namespace lockstep::translator
