// Roots of doubles with what compilers do about very small numbers, zeros and infinities around the steps
// that begin with V_RSQ_F64: small ones are scaled before, and their roots back; of the others the operand is
// taken.
#pragma once

#include <set>
#include <vector>

#include "engine/translator/liveness.h"
#include "engine/translator/quotients.h"
#include "engine/translator/run_graph.h"

namespace lockstep::translator {

// The steps alone, as operations of a run: the last of them, those before it, and what they are of.
struct RootOfDouble {
  int last = 0;
  std::set<int> steps;
  Term operand;
};

// Takes those of which all is there from the result's roots, and adds them as whole ones.
void find_whole_roots(const RunGraph& run, const RegisterSet& live, const std::vector<RootOfDouble>& roots,
                      Quotients& result);

}  // namespace lockstep::translator
