// Tests of what the machine does run on every engine that claims to: on the interpreter, or, with
// LOCKSTEP_TEST_ENGINE=translator, on the translator.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace lockstep {

inline bool tests_translator() {
  static const bool result = [] {
    const char* const asked = std::getenv("LOCKSTEP_TEST_ENGINE");
    if (!asked) return false;
    if (std::string(asked) != "translator")
      throw std::invalid_argument("LOCKSTEP_TEST_ENGINE may be translator, not " + std::string(asked));
    return true;
  }();
  return result;
}

}  // namespace lockstep
