// The options of `run` that concern the machine around the instructions, and what they report.
#pragma once

#include "api/lockstep.hpp"
#include "cli/commands.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

void add_machine_options(CLI::App& command, MachineOptions& options);
void apply_machine_options(const MachineOptions& options, lockstep_dispatch_options& dispatch);

// The same four for the dispatches of programs (`exec`): --rules, --results, --caches and --order; empty
// where nothing is asked.
void add_exec_machine_options(CLI::App& command, ExecOptions& options);

// The rules that the device's last dispatch broke, on the standard output.
void print_broken_rules(const Device& device);
// Likewise the exceptions that occurred.
void print_exceptions(const Device& device);

}  // namespace lockstep::cli
