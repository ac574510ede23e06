// Accesses of memory in loops: what their addresses come from.
#pragma once

#include <vector>

#include "engine/translator/liveness.h"
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

// Those in loops within others whose places the outer one does not change: each of its rounds begins with
// them anew. Nodes.
std::vector<unsigned> find_accesses_again(const Routine& routine, const Facts& facts, unsigned piece);

}  // namespace lockstep::translator
