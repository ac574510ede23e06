// Random kernels.
#pragma once

#include "fuzz/kernels/ast.h"

namespace lockstep::kernel_fuzz {

// Small ones have a fifth of the expressions: compilers and translator are through with more of them in the
// same time, usual ones have more that meets.
enum class Size { usual, small };

Kernel generate(uint64_t seed, Size size);

}  // namespace lockstep::kernel_fuzz
