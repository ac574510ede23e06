// Runs a child process to its end and collects what it prints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::toolchain {

struct ProcessResult {
  bool started = false;  // if not, `output` says why
  int exit_code = -1;    // 128 + signal number if a signal ended it
  std::string output;    // standard output and standard error
};

// arguments[0] is the program: a path, or a name to be found in PATH. `input` is its standard input.
ProcessResult run_process(const std::vector<std::string>& arguments, std::string_view input);

// The path of an executable file of that name in PATH, or an empty string.
std::string find_in_path(std::string_view program);

}  // namespace lockstep::toolchain
