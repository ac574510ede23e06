// Programs and headers of others that this machine has.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep::toolchain {

// $LOCKSTEP_CLANG, or the newest clang from 19 on, in PATH or where Debian's packages of LLVM are, that has a
// linker of its version; empty: there is none.
std::string find_clang();

// A ROCm whose HIP headers serve instead of ours: $ROCM_PATH, or where its packages put it. Empty: none.
std::filesystem::path find_rocm();

}  // namespace lockstep::toolchain
