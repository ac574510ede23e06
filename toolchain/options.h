// What the ways of compiling share.
#pragma once

#include <string>

#include "toolchain/compile.h"

namespace lockstep::toolchain {

// Empty, or what is wrong with the options.
std::string check(const Options& options);

// assemble() of a text that may include what lies below `folder`.
Result assemble_from(const std::filesystem::path& folder, std::string_view text, std::string_view name,
                     const Options& options);

// $LOCKSTEP_CLANG, or clang-19 of PATH or of Debian's folder; empty: there is none.
std::string find_clang();

// A ROCm whose HIP headers serve instead of ours: $ROCM_PATH, or where its packages put it. Empty: none.
std::filesystem::path find_rocm();

}  // namespace lockstep::toolchain
