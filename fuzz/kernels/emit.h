// Prints kernels as OpenCL C for the device and as C++ for the host.
#pragma once

#include <span>
#include <string>

#include "fuzz/kernels/ast.h"

namespace lockstep::kernel_fuzz {

enum class Target { device, host };

// One source file; kernel number i is called "k<i>". The host's functions are
//   void k<i>(const u8* input, u8* output, u8* atomics, arguments ..., u32 wave_size)
std::string emit(std::span<const Kernel* const> kernels, Target target);

}  // namespace lockstep::kernel_fuzz
