// Options of a dispatch as the machine has them.
#pragma once

#include "api/device.h"
#include "api/lockstep.h"
#include "engine/precise/settings.h"

namespace lockstep::api {

// What the dispatch asks of the machine around the instructions. Throws Failure for values that no option
// has.
precise::Settings settings_of(const lockstep_dispatch_options& options);
// Loads the trap handler that the options name, if they do. Throws Failure.
void add_trap_handler(const lockstep_dispatch_options& options, const lockstep_kernel& kernel,
                      lockstep_device& device, precise::TrapSettings& traps);

}  // namespace lockstep::api
