#include "cli/machine.h"

#include <CLI/CLI.hpp>

#include "cli/common.h"
#include "cli/location.h"

namespace lockstep::cli {

namespace {

constexpr const char* kGroup = "The machine around the instructions (slower, by default off)";

}  // namespace

void add_machine_options(CLI::App& command, MachineOptions& options) {
  command
      .add_option(
          "--rules", options.rules,
          "programming rules of the guide, such as those for clauses: report or fault where they are broken")
      ->check(CLI::IsMember({"ignore", "warn", "fault"}))
      ->capture_default_str()
      ->group(kGroup);
}

void apply_machine_options(const MachineOptions& options, lockstep_dispatch_options& dispatch) {
  dispatch.rules = options.rules == "warn"    ? LOCKSTEP_RULES_WARN
                   : options.rules == "fault" ? LOCKSTEP_RULES_FAULT
                                              : LOCKSTEP_RULES_IGNORE;
}

void print_broken_rules(const Device& device) {
  const std::vector<lockstep_broken_rule> broken = device.broken_rules();
  if (broken.empty()) fmt::print("rules: none was broken\n");
  for (const lockstep_broken_rule& b : broken)
    fmt::print("broken rule: {}\n  {}\n  {} times, first in work-group ({}, {}, {}), wave {}\n",
               place(b.where), b.rule, b.executions, b.work_group[0], b.work_group[1], b.work_group[2],
               b.wave);
}

}  // namespace lockstep::cli
