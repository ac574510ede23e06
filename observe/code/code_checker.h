// What the checkers `waits` and `legality` can prove of code without running it.
#pragma once

#include <vector>

#include "engine/findings.h"
#include "observe/code/code_flow.h"

namespace lockstep::observe {

struct CodeChecks {
  bool waits = true, legality = true;
};

// In order of address, as linked; their counts are 0. Each root by itself, so that memory is that of the
// largest; calls are followed to targets that the code names. A note tells of jumps and calls to other ones.
std::vector<lockstep::Finding> check_code(const Code& code, const std::vector<Root>& roots,
                                          const CodeChecks& checks);

}  // namespace lockstep::observe
