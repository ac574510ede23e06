// Links one relocatable AMDGPU object to a loadable code object.
#pragma once

#include <string>
#include <string_view>

#include "toolchain/compile.h"

namespace lockstep::toolchain {

Result link(std::string_view object);

}  // namespace lockstep::toolchain
