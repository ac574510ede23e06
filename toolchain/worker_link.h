// Links one relocatable AMDGPU object to a loadable code object.
#pragma once

#include <string>
#include <string_view>

#include "toolchain/compile.h"

namespace lockstep::toolchain {

// For a process with one thread that links once: lld keeps its state in globals and writes to standard
// output. `name` stands for the object in messages.
Result link(std::string_view object, std::string_view name);

}  // namespace lockstep::toolchain
