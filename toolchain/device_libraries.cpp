#include "toolchain/device_libraries.h"

#include <cstdlib>

#include "toolchain/process.h"
#include "toolchain/worker_client.h"
#include "toolchain/worker_protocol.h"

namespace lockstep::toolchain {

namespace fs = std::filesystem;

namespace {

// The newest version file of the package, by which the package is known.
constexpr char kVersionFile[] = "oclc_isa_version_1036.bc";
constexpr Limits kLimits{.seconds = 300, .megabytes = 4096};

}  // namespace

fs::path find_device_libraries(std::string& error) {
  const char* chosen = std::getenv("LOCKSTEP_DEVICE_LIBRARIES");
  const fs::path candidates[] = {chosen ? chosen : "", "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode",
                                 "/usr/lib/amdgcn/bitcode"};
  std::error_code ignored;
  for (const fs::path& candidate : candidates)
    if (!candidate.empty() && fs::exists(candidate / kVersionFile, ignored)) return candidate;
  error =
      "the AMDGPU device libraries are missing: install the Debian package rocm-device-libs "
      "(apt-get install rocm-device-libs), or name their directory in LOCKSTEP_DEVICE_LIBRARIES";
  return {};
}

bool prepare_device_libraries(const fs::path& source, const fs::path& directory, std::string& error) {
  const fs::path worker = find_worker(error);
  if (worker.empty()) return false;
  const std::vector<std::string> arguments = {worker, kDeviceLibrariesJob, fs::absolute(source),
                                              fs::absolute(directory)};
  const ProcessResult result = run_process(arguments, {}, {.limits = kLimits, .writable = directory});
  if (result.started && result.exit_code == 0) return true;
  error = "cannot prepare the device libraries of " + source.string() + ": " +
          (result.output.empty() ? worker.string() + " ended with code " + std::to_string(result.exit_code)
                                 : result.output);
  while (error.ends_with('\n')) error.pop_back();
  return false;
}

}  // namespace lockstep::toolchain
