// The progress line of a long run, and what Ctrl-C does to it.
#pragma once

#include "api/lockstep.h"

namespace lockstep::cli {

class ProgressLine {
 public:
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
};

}  // namespace lockstep::cli
