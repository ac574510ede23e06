// Job files: several kernels and steps of the host in one TOML file (docs/jobs.md).
#pragma once

#include <string>

namespace lockstep::cli {

struct JobReports {
  bool quiet = false;        // no summaries
  bool translation = false;  // of each dispatch
};
// The program's exit code. Throws UsageError that names the step.
int run_job(const std::string& path, const JobReports& reports);

}  // namespace lockstep::cli
