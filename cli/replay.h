// `run` of a dump: a dispatch that `lockstep exec --dump` has written.
#pragma once

#include <string>
#include <vector>

#include "api/lockstep.hpp"
#include "cli/commands.h"
#include "cli/findings.h"

namespace lockstep::cli {

// Of options for all kinds of input (cli/run.cpp).
lockstep_device_options device_options_of(const RunOptions& options);
// Whether any names a kernel, its shape, arguments or compiler flags: jobs and dumps say these themselves.
bool say_what_to_run(const RunOptions& options);
// Limits, checkers and the machine around the instructions. `options` must outlive `dispatch`.
// `plugins` holds what the dispatch points at.
void apply_run_options(const RunOptions& options, std::vector<const char*>& plugins,
                       lockstep_dispatch_options& dispatch);
// Reports that were asked for; true if a checker has found something that is not suppressed.
bool print_reports(const Device& device, const lockstep_dispatch_options& dispatch, lockstep_status status,
                   const RunOptions& options, const std::vector<Suppression>& suppressions,
                   const char* kernel);

int replay(const RunOptions& options);
// `info` of one: what was dispatched, and in which memory.
int dump_info(const std::string& path);

}  // namespace lockstep::cli
