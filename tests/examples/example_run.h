// Runs an example's dispatches through the C interface, and hands back what became of its buffers.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "api/lockstep.h"
#include "examples/example.h"

namespace lockstep::examples {

struct RunRequest {
  lockstep_dispatch_options options;  // but for the shapes, which are the example's
  lockstep_device_options device;
  // Bytes before and behind each buffer that the kernels may reach and must not change, and what they hold.
  size_t guard_bytes = 0;
  uint8_t guard_byte = 0;

  RunRequest() {
    lockstep_dispatch_options_init(&options);
    lockstep_device_options_init(&device);
  }
};

// Of options.checks; notes are left out.
struct CheckFinding {
  std::string checker, kernel, rule, detail, instruction, file;
  uint64_t offset = 0;  // from the kernel's entry
  uint32_t line = 0;
  uint64_t count = 0;
};

struct RunResult {
  lockstep_status status = LOCKSTEP_OK;
  std::string error;           // of the first call that failed; nothing was done behind it
  std::vector<Bytes> buffers;  // empty if it failed before the dispatches
  bool guards_hold = true;
  std::vector<CheckFinding> findings;
  uint64_t instructions = 0;     // of waves
  double processor_seconds = 0;  // that the process had while the dispatches ran

  // Where a buffer differs from what the example expects; empty if none does.
  std::string difference(const Example& example) const;
};

RunResult run(const Example& example, std::span<const std::byte> code_object, const RunRequest& request = {});

// Throws std::runtime_error.
Bytes read_file(const std::string& path);

}  // namespace lockstep::examples
