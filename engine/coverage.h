// Which instructions this process has executed: the proof that a test ran a row. Recorded where code is
// decoded, so that running it costs nothing.
#pragma once

#include <cstdint>

#include "isa/row.h"

namespace lockstep {

// Safe from several threads. With the environment variable LOCKSTEP_COVERAGE=FILE the process appends the
// recorded rows to that file when it ends, a line each: encoding, opcode number, mnemonic.
void record_executed(const isa::Row& row);
bool was_executed(const isa::Row& row);

}  // namespace lockstep
