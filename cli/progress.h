// The progress line of a long run, what Ctrl-C does to it, and what the kernel prints in between.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>

#include "api/lockstep.h"

namespace lockstep::cli {

class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void connect(lockstep_dispatch_options& options);
  // `name` is what is compiled.
  void connect(lockstep_compile_options& options, std::string name);

 private:
  static int update(void* self, const lockstep_progress* progress);
  static int update_compiling(void* self);
  static void print_output(void* self, const char* text, uint64_t bytes, int stream);
  void draw(const lockstep_progress& progress);
  void draw_line(std::string_view line);

  const bool show_;
  std::mutex mutex_;  // kernels print from any thread
  std::string compiled_;
  std::chrono::steady_clock::time_point begin_;
  bool drawn_ = false;
};

}  // namespace lockstep::cli
