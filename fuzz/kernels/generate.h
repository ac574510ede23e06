// Random kernels.
#pragma once

#include "fuzz/kernels/ast.h"

namespace lockstep::kernel_fuzz {

Kernel generate(uint64_t seed);

}  // namespace lockstep::kernel_fuzz
