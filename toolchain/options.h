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

}  // namespace lockstep::toolchain
