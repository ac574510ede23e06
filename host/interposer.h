// What the parts of the library that programs are started with have in common.
#pragma once

#include "host/driver_interface.h"

#define LOCKSTEP_TAKEN extern "C" __attribute__((visibility("default")))

namespace lockstep::interposed {

// The driver, if a program has looked for a device; null: not yet, or there is none to be had.
const LockstepDriver* present_driver();

}  // namespace lockstep::interposed
