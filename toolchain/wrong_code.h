// Keeps LLVM 19 from making wrong code of some constructs (docs/kernel-fuzzing.md).
#pragma once

#include <string>
#include <vector>

#include "toolchain/compile.h"

namespace lockstep::toolchain {

struct Guards {
  std::vector<std::string> flags;  // for clang
  std::string plugin_flag;         // one more, that loads lockstep-guards.so; empty without
  std::string warning;             // why there is none
};

// For a compiler of that path. Compilers other than clang 19 get no plugin, which would not fit, nor a
// warning: what they do wrong is not known.
Guards guards_for(const std::string& clang, const Options& options);

// Did clang refuse the plugin, and not the source?
bool refused_plugin(const std::string& messages);

}  // namespace lockstep::toolchain
