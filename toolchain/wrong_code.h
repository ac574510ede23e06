// Keeps LLVM 19 from making wrong code of some constructs (docs/kernel-fuzzing.md).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "toolchain/compile.h"

namespace lockstep::toolchain {

// Flags for clang, whatever its version.
std::vector<std::string> guard_flags(const Options& options);

// lockstep-guards.so, wherever it is installed. Empty, with an error, if it is not.
std::filesystem::path guard_plugin(std::string& error);

struct PluginGuard {
  std::string flag;     // for clang, that loads the plugin; empty without
  std::string warning;  // why there is none
};

// For a compiler of that path, which is asked for its version once. Compilers other than clang 19 get no
// plugin, which would not fit, nor a warning: what they do wrong is not known.
PluginGuard plugin_guard(const std::string& clang);

// Did clang refuse the plugin, and not the source?
bool refused_plugin(const std::string& messages);

}  // namespace lockstep::toolchain
