// The handlers for other alignment modes than UNALIGNED.
#pragma once

#include "engine/interpreter/handlers.h"

namespace lockstep::interpreter {

// Over what the files of the usual handlers have registered.
void register_aligned_access(HandlerTable& table);

}  // namespace lockstep::interpreter
