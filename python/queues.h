#pragma once

#include "python/common.h"

namespace lockstep_python {

// Queues, their dispatches and signals.
void define_queues(py::module_& module);

}  // namespace lockstep_python
