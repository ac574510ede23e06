// Options of a dispatch as the machine has them.
#pragma once

#include "api/lockstep.h"
#include "engine/precise/settings.h"

namespace lockstep::api {

// What the dispatch asks of the machine around the instructions. Throws Failure for values that no option
// has.
precise::Settings settings_of(const lockstep_dispatch_options& options);

}  // namespace lockstep::api
