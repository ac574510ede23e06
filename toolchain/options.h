// What every way of compiling checks first.
#pragma once

#include <string>

#include "toolchain/compile.h"

namespace lockstep::toolchain {

// Empty, or what is wrong with the options.
std::string check(const Options& options);

}  // namespace lockstep::toolchain
