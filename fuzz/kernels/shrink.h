// Makes a kernel smaller while it still shows what it showed.
#pragma once

#include <functional>

#include "fuzz/kernels/ast.h"

namespace lockstep::kernel_fuzz {

// Says for each kernel whether it still shows it.
using Judge = std::function<std::vector<bool>(const std::vector<const Kernel*>&)>;

// Takes away statements, phases, loops, operands, constants, variables and work-items, until nothing more can
// go or `seconds` have passed.
Kernel shrink(Kernel kernel, const Judge& judge, double seconds);

unsigned size(const Kernel& kernel);  // statements and expressions

}  // namespace lockstep::kernel_fuzz
