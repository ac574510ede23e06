// Names of kernels as people write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::loader {

// A mangled C++ name (_Z...) in readable form. Any other name, a damaged one, and one that is too long as it
// is or would be (a few hundred bytes can stand for more text than there is memory, by types in types) is
// given back.
std::string readable_name(const std::string& symbol);

// The types of a function's parameters, from its readable name and written as OpenCL's metadata has them:
// "float*", "uint3", without const and volatile. None if the name has no parameters.
std::vector<std::string> parameter_types(std::string_view readable);

}  // namespace lockstep::loader
