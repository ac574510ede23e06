// Where functions are in the code that runs, by the symbols of its code object: who loaded it knows.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace lockstep::observe {

struct CodeSpan {
  uint64_t begin = 0, end = 0;  // as loaded
  bool contains(uint64_t pc) const { return pc - begin < end - begin; }
};

// The code of the function of that name in the code object around `pc`; empty: there is none.
using FindFunction = std::function<CodeSpan(uint64_t pc, std::string_view name)>;

}  // namespace lockstep::observe
