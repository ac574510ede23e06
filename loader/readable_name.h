// Names of kernels as people write them.
#pragma once

#include <string>

namespace lockstep::loader {

// A mangled C++ name (_Z...) in readable form. Any other name, a damaged one, and one that is too long as it
// is or would be (a few hundred bytes can stand for more text than there is memory, by types in types) is
// given back.
std::string readable_name(const std::string& symbol);

}  // namespace lockstep::loader
