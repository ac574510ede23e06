// What is printed of a failing kernel.
#pragma once

#include <string>

#include "fuzz/kernels/run.h"

namespace lockstep::kernel_fuzz {

std::string describe(const Outcome& outcome);  // one line
// Source, listing, initial state, and both final states with their differences marked.
std::string report(const Kernel& kernel, const Runner::Details& details);

}  // namespace lockstep::kernel_fuzz
