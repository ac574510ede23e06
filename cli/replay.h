// `run` of a dump: a dispatch that `lockstep exec --dump` has written.
#pragma once

#include <string>

#include "api/lockstep.hpp"
#include "cli/commands.h"

namespace lockstep::cli {

// Of options for all kinds of input (cli/run.cpp).
lockstep_device_options device_options_of(const RunOptions& options);
// Reports that were asked for; true if a checker has found something.
bool print_reports(const Device& device, const lockstep_dispatch_options& dispatch, lockstep_status status,
                   const RunOptions& options, const char* kernel);

int replay(const RunOptions& options);
// `info` of one: what was dispatched, and in which memory.
int dump_info(const std::string& path);

}  // namespace lockstep::cli
