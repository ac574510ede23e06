#include "cli/machine.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <string_view>

#include "cli/common.h"
#include "cli/location.h"
#include "cli/traps.h"

namespace lockstep::cli {

namespace {

constexpr const char* kMachineGroup = "The machine around the instructions (slower, by default off)";

constexpr std::string_view kRandom = "random:";

// The number behind "random:"; null if the text says something else.
std::optional<uint64_t> seed_of(std::string_view text) {
  if (!text.starts_with(kRandom)) return std::nullopt;
  return whole_number(text.substr(kRandom.size()));
}

std::string is_results(const std::string& text) {
  if (text == "now" || text == "late" || seed_of(text)) return {};
  return "'" + text + "' is none of now, late and random:SEED, with a whole number as SEED";
}

std::string is_order(const std::string& text) {
  if (text == "forward" || text == "backward" || text == "random" || seed_of(text)) return {};
  return "'" + text + "' is none of forward, backward, random and random:SEED, with a whole number as SEED";
}

struct Choices {
  std::string *rules, *results, *caches, *order;
};

void add_choices(CLI::App& command, Choices choices) {
  command
      .add_option(
          "--rules", *choices.rules,
          "programming rules of the guide, such as those for clauses: report or fault where they are broken")
      ->check(CLI::IsMember({"ignore", "warn", "fault"}))
      ->group(kMachineGroup);
  command
      .add_option("--results", *choices.results,
                  "when results of memory instructions land: now, late (as late as s_waitcnt allows), or "
                  "random:SEED")
      ->check(is_results)
      ->group(kMachineGroup);
  command
      .add_option("--caches", *choices.caches,
                  "coherent, or incoherent: caches keep what they have read until it is invalidated")
      ->check(CLI::IsMember({"coherent", "incoherent"}))
      ->group(kMachineGroup);
  command
      .add_option(
          "--order", *choices.order,
          "which work-groups start first, and which waves of a group have their turns first: forward, "
          "backward, or random or random:SEED (in turns of random length): what changes with it is a "
          "race. backward is as quick as forward")
      ->check(is_order)
      ->group(kMachineGroup);
}

}  // namespace

void add_machine_options(CLI::App& command, MachineOptions& options) {
  add_choices(command, {&options.rules, &options.results, &options.caches, &options.order});
  for (const char* name : {"--rules", "--results", "--caches", "--order"})
    command.get_option(name)->capture_default_str();
  command
      .add_option("--initial-byte", options.initial_byte,
                  "what registers, LDS and scratch hold in each byte that nothing has written: results must "
                  "not depend on it")
      ->check(CLI::Range(0, 255))
      ->capture_default_str()
      ->group(kMachineGroup);
  add_trap_options(command, options, kMachineGroup);
}

void add_exec_machine_options(CLI::App& command, ExecOptions& options) {
  add_choices(command, {&options.rules, &options.results, &options.caches, &options.order});
}

void print_exceptions(const Device& device) {
  const std::vector<lockstep_exception> exceptions = device.exceptions();
  if (exceptions.empty()) print("exceptions: none occurred\n");
  for (const lockstep_exception& e : exceptions)
    print("exception: {}\n  {}\n  {} times, first in work-group ({}, {}, {}), wave {}\n", e.name,
          place(e.where), e.executions, e.work_group[0], e.work_group[1], e.work_group[2], e.wave);
}

void apply_machine_options(const MachineOptions& options, lockstep_dispatch_options& dispatch) {
  dispatch.exceptions = options.exceptions;
  dispatch.rules = options.rules == "warn"    ? LOCKSTEP_RULES_WARN
                   : options.rules == "fault" ? LOCKSTEP_RULES_FAULT
                                              : LOCKSTEP_RULES_IGNORE;
  const std::optional<uint64_t> seed = seed_of(options.results);
  dispatch.results = seed                        ? LOCKSTEP_RESULTS_RANDOM
                     : options.results == "late" ? LOCKSTEP_RESULTS_LATE
                                                 : LOCKSTEP_RESULTS_NOW;
  dispatch.results_seed = seed.value_or(0);
  dispatch.initial_byte = static_cast<uint8_t>(options.initial_byte);
  dispatch.caches = options.caches == "incoherent" ? LOCKSTEP_CACHES_INCOHERENT : LOCKSTEP_CACHES_COHERENT;
  dispatch.order = options.order == "forward"    ? LOCKSTEP_ORDER_FORWARD
                   : options.order == "backward" ? LOCKSTEP_ORDER_BACKWARD
                                                 : LOCKSTEP_ORDER_RANDOM;
  dispatch.order_seed = seed_of(options.order).value_or(0);
}

void print_broken_rules(const Device& device) {
  const std::vector<lockstep_broken_rule> broken = device.broken_rules();
  if (broken.empty()) print("rules: none was broken\n");
  for (const lockstep_broken_rule& b : broken)
    print("broken rule: {}\n  {}\n  {} times, first in work-group ({}, {}, {}), wave {}\n", place(b.where),
          b.rule, b.executions, b.work_group[0], b.work_group[1], b.work_group[2], b.wave);
}

}  // namespace lockstep::cli
