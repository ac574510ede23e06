// The progress line of a long run, and Ctrl-C.
#pragma once

#include <csignal>

#include "api/lockstep.h"

namespace lockstep::cli {

class ProgressLine {
 public:
  // Takes over SIGINT: the first one asks the dispatch to stop, the second one ends the process.
  explicit ProgressLine(bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void connect(lockstep_dispatch_options& options);

 private:
  static int update(void* self, const lockstep_progress* progress);
  void draw(const lockstep_progress& progress);

  bool show_;
  bool drawn_ = false;
  struct sigaction old_{};
};

}  // namespace lockstep::cli
