// The options of `run` that concern traps and exceptions.
#pragma once

#include <vector>

#include "api/lockstep.hpp"
#include "cli/commands.h"

namespace CLI {
class App;
}

namespace lockstep::cli {

class Buffers;

void add_trap_options(CLI::App& command, MachineOptions& options, const char* group);

// What a dispatch points at, for as long as it runs.
class Traps {
 public:
  // Throws UsageError for options that name no buffer or are written wrongly.
  Traps(const MachineOptions& options, const Buffers& buffers, lockstep_dispatch_options& dispatch);
  Traps(const Traps&) = delete;
  Traps& operator=(const Traps&) = delete;

 private:
  lockstep_trap_options options_;
  std::vector<lockstep_trap_request> requests_;
};

}  // namespace lockstep::cli
