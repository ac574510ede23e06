// Whether a program looks at its exceptions: only then need they be computed.
#pragma once

#include <span>

#include "engine/engine.h"

namespace lockstep::precise {

// Whether the code reads TRAPSTS.EXCP or enables traps in MODE.EXCP_EN with s_setreg. The code must be
// readable.
bool uses_exceptions(std::span<const CodeRange> code, unsigned wave_size);
// The same of a range that may be longer than its code: looks no further than s_code_end or bytes that are no
// instruction.
bool uses_exceptions_until_end(CodeRange code, unsigned wave_size);

}  // namespace lockstep::precise
