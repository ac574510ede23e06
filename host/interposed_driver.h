// The driver, as the library that programs are started with loads it. No C++ library.
#pragma once

#include "host/driver_interface.h"

namespace lockstep::interposed {

// The driver, which the first such call loads; null: it is not to be had, or the call is its own.
const LockstepDriver* driver();
// The driver, if a program has looked for a device; null: not yet, or there is none to be had.
const LockstepDriver* present_driver();

// Whether a handler of the program's end is that of a library that came with the driver, or comes now, on
// this thread: `library` is its __dso_handle. Handlers run in the opposite order of their registration, so
// that those of libraries that came late, the driver's and LLVM's, would run before those of the program's
// runtime, which may wait for kernels there: on threads of ours, with what has just been destroyed. Nothing
// of these libraries is destroyed.
bool is_of_driver(const void* library);

}  // namespace lockstep::interposed
