// Job files: several kernels and steps of the host in one TOML file (docs/jobs.md).
#pragma once

#include <string>

namespace lockstep::cli {

// The program's exit code. `quiet`: no summaries. Throws UsageError that names the step.
int run_job(const std::string& path, bool quiet);

}  // namespace lockstep::cli
