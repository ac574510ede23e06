// A launch from its start to what it leaves with the device: shared by all that dispatch kernels.
#pragma once

#include <memory>
#include <string>

#include "api/device.h"
#include "api/guest_services.h"
#include "machine/launch.h"
#include "observe/checks/checks.h"

namespace lockstep::api {

lockstep_dispatch_options dispatch_defaults();

// Who takes what the kernel prints.
// To the callback; null: to the process's own standard output and error.
GuestServices::Output output_of(void (*output)(void* user, const char* text, uint64_t bytes, int stream),
                                void* user);

// Reports of the device's last dispatch.
void forget_reports(lockstep_device& device);

// Those by their names, and plug-ins; `find` knows functions of the code that they follow. Throws Failure.
std::shared_ptr<observe::Checks> checks_of(const char* names, const char* const* plugins,
                                           uint32_t plugin_count, const lockstep_device& device,
                                           observe::FindFunction find = {});

// Runs the launch, whose code, registers and memory are set, on the device, and leaves there what `options`
// ask for. `run` has its settings and resident groups. Throws Failure for a fault, and for a limit that is
// reached; `out` (may be null) is filled then, too.
machine::Outcome run_launch(lockstep_device& device, machine::Launch launch, machine::RunOptions run,
                            const lockstep_dispatch_options& options, const RunningKernel& kernel,
                            lockstep_statistics* out);
// Throws Failure if it was.
void check_cancelled(const machine::Outcome& outcome, const std::string& kernel);

}  // namespace lockstep::api
