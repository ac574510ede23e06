// Quotients and square roots among vector instructions: compilers make ten or eleven instructions of one, of
// which the last one's result is all that anybody reads.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "engine/translator/liveness.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

struct Quotients {
  // The v_div_fixup_* whose result is src2 / src1, rounded once (numeric/quotient.h).
  std::set<unsigned> divisions;
  // Nodes whose result is the root of a double that VGPRs hold from there on (numeric/square_root.h).
  std::map<unsigned, unsigned> roots;
  // What computes nothing but steps of these: nodes, and of VOPD pairs which half (else 0).
  std::set<std::pair<unsigned, unsigned>> steps;
};

// Among nodes that are executed one after the other. `live`: what is read behind them, in lanes that are on.
Quotients find_quotients(const Routine& routine, const Facts& facts, const std::vector<unsigned>& nodes,
                         const RegisterSet& live);

// Whether the instruction copies a mask of lanes from one place in the scalar registers to another one.
bool is_mask_move(const Node& node, unsigned wave_size);

// A quotient that has begun ends as many instructions later. v_div_scale_*: 1; v_div_fixup_*: -2, else 0.
int quotient_steps_open(const Node& node);

}  // namespace lockstep::translator
