// Rules of the instruction set that the code breaks wherever it is executed as it stands.
#pragma once

#include "engine/findings.h"
#include "observe/code/code_flow.h"

namespace lockstep::observe {

// The units of `legality` (engine/precise/) are led through each stretch of code that stands behind each
// other, as a wave would come through that takes no branch. Addresses in the findings are those of the bytes
// in memory.
void find_broken_rules(const Code& code, const CodeFlow& flow, const Root& root, Findings& findings);

}  // namespace lockstep::observe
