// Registers that are used, on some path through the code, before a wait has made sure of them.
#pragma once

#include "engine/findings.h"
#include "observe/code/code_flow.h"

namespace lockstep::observe {

// The rules are those of `waits` on waves that run (engine/precise/missing_waits.h). Of each result that may
// be on its way the least number of instructions of its kind that were issued behind it is followed, over all
// paths: what a wait makes sure of on every path is certain. Behind calls nothing is taken to be under way.
// `bias` is added to addresses in the findings.
void find_missing_waits(const CodeFlow& flow, unsigned wave_size, uint64_t bias, Findings& findings);

}  // namespace lockstep::observe
