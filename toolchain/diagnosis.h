// What of this machine compiling needs, whether it is there, and how to get it.
#pragma once

#include <string>
#include <vector>

namespace lockstep::toolchain {

struct Diagnosis {
  enum class State { good, missing, optional } state;  // optional: it is missing, and most do without
  std::string what;                                    // "clang"
  std::string text;                                    // where it is, or what is wrong
};

// Compiles a few lines of each language, so it takes a second.
std::vector<Diagnosis> diagnose();

}  // namespace lockstep::toolchain
