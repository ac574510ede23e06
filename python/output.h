// What kernels print, to where Python's own print() goes: a notebook's cell, or what a test captures.
#pragma once

#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "python/common.h"

namespace lockstep_python {

// As lockstep_dispatch_options.output says it: stream 2 is standard error. With the interpreter's lock.
void write_output(std::string_view text, int stream);

// Of one launch, which waits for it without the interpreter's lock: written as it comes.
class LaunchOutput {
 public:
  // For lockstep_dispatch_options.output, with the LaunchOutput.
  static void take(void* user, const char* text, uint64_t bytes, int stream);
  // What sys.stdout has raised; after that nothing more is written.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::exception_ptr error_;
};

// Of a queue, whose threads never wait for the interpreter: kept until the host looks.
class QueueOutput {
 public:
  static void take(void* user, const char* text, uint64_t bytes, int stream);
  // With the interpreter's lock.
  void write();

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::string, int>> kept_;  // text and stream, the oldest first
};

}  // namespace lockstep_python
