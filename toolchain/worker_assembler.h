// Assembly text to a loadable code object, with LLVM's assembler and lld. Hostile text makes them crash, loop
// or take all memory, so this is for the worker only.
#pragma once

#include "toolchain/worker_protocol.h"

namespace lockstep::toolchain {

// Done once, before the first request.
void initialize_assembler();

Result assemble_here(const AssemblyRequest& request);

// From here on what ends this process says first on `answer` where in the source it happened: crashes, no
// memory, too much processor time, LLVM's fatal errors. For a process with one thread and one request.
void report_end_of_process(const AssemblyRequest& request, int answer);

}  // namespace lockstep::toolchain
