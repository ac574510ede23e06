// Job files: several kernels and steps of the host in one TOML file (docs/jobs.md).
#pragma once

namespace lockstep::cli {

struct RunOptions;

// The options are those of each dispatch; what a job says itself, and what is of one dispatch, is refused.
// The program's exit code. Throws UsageError that names the step.
int run_job(const RunOptions& options);

}  // namespace lockstep::cli
