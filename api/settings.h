// Options of a dispatch as the machine has them.
#pragma once

#include "api/device.h"
#include "api/lockstep.h"
#include "engine/precise/settings.h"

namespace lockstep::api {

// What the dispatch asks of the machine around the instructions; loads the trap handler that it names, if it
// does. Throws Failure for values that no option has.
precise::Settings settings_of(const lockstep_dispatch_options& options, lockstep_device& device);
// Likewise for all dispatches of a queue.
precise::Settings settings_of(const lockstep_queue_options& options, lockstep_device& device);

}  // namespace lockstep::api
