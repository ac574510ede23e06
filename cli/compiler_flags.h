// Flags of clang as its users write them: -DN=7, -I include, -cl-fast-relaxed-math.
#pragma once

#include <string>
#include <vector>

#include "api/lockstep.hpp"

namespace CLI {
class App;
}

namespace lockstep::cli {

// What `run`, `info` and `disasm` say of compiling; wherever they meet source.
struct CompilerOptions {
  std::vector<std::string> flags;
  std::vector<std::string> sources;  // beside the input
  uint32_t optimization = 2;
};

void add_compiler_options(CLI::App& command, CompilerOptions& options);

// Of what follows the input the texts at the front that are files by their names, a.cl: further sources. No
// kernel argument looks so.
std::vector<std::string> take_sources(std::vector<std::string>& arguments);

// The arguments of main() with every such flag of a command that compiles as --flag=..., which the parser of
// options understands: in its own ways -cl-mad-enable would be -c with a value. What stands behind -- or is
// another option's value stays.
std::vector<std::string> with_long_flags(int argc, const char* const* argv);

// The compiler's part of the interface, with what the options say; it points into `options`.
class Compilation {
 public:
  explicit Compilation(const CompilerOptions& options);
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  lockstep_compile_options options;

 private:
  std::vector<const char*> flags_, sources_;
};

// A code object from whatever file; on a terminal with a sign of life while it is compiled.
CodeObject open_with_progress(const std::string& path, lockstep_compile_options options, bool quiet = false);

}  // namespace lockstep::cli
