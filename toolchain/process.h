// Runs a child process to its end and collects what it prints.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "toolchain/compile.h"

namespace lockstep::toolchain {

struct ProcessResult {
  bool started = false;  // if not, `output` says why
  int exit_code = -1;    // 128 + signal number if a signal ended it
  bool out_of_time = false;
  std::string output;  // standard output and standard error; of very much the beginning
};

// What the child may take. Where the kernel has Landlock it writes below `writable` only,
// which is its TMPDIR, too. It may read whatever the user may, as a compiler does that follows #include.
struct Confinement {
  Limits limits;
  std::filesystem::path writable;
  std::function<bool()> cancelled = {};  // asked about ten times a second; true: the child is killed
};

// arguments[0] is the program: a path, or a name to be found in PATH. `input` is its standard input.
ProcessResult run_process(const std::vector<std::string>& arguments, std::string_view input);
ProcessResult run_process(const std::vector<std::string>& arguments, std::string_view input,
                          const Confinement& confinement);

// The path of an executable file of that name in PATH, or an empty string.
std::string find_in_path(std::string_view program);

}  // namespace lockstep::toolchain
