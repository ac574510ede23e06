// SPIR-V for OpenCL as LLVM bitcode for amdgcn: llvm-spirv reads it, the worker gives it amdgcn's address
// spaces.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "toolchain/process.h"

namespace lockstep::toolchain {

// Binary modules begin with this word, in the byte order of their writer (SPIR-V specification, 2.3).
bool is_spirv(std::string_view bytes);

// $LOCKSTEP_LLVM_SPIRV, or the newest llvm-spirv in PATH that writes bitcode LLVM 19 can read.
std::string find_llvm_spirv();

// Bitcode in the confinement's writable folder. `printing`: that of lockstep/opencl_printf.h. Empty with the
// reason in `error`.
std::filesystem::path bitcode_of_spirv(std::string_view module, const std::filesystem::path& printing,
                                       const Options& options, const Confinement& confinement,
                                       std::string& error);

}  // namespace lockstep::toolchain
