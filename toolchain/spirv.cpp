#include "toolchain/spirv.h"

#include <cstdlib>
#include <vector>

#include "toolchain/confinement.h"
#include "toolchain/files.h"
#include "toolchain/worker_client.h"
#include "toolchain/worker_protocol.h"

namespace lockstep::toolchain {

namespace fs = std::filesystem;

namespace {

// Its first words, if it fails: translators of SPIR-V end with an assertion and their own stack.
bool ran(const std::vector<std::string>& command, const Confinement& confinement, std::string& error) {
  const ProcessResult process = run_process(command, {}, confinement);
  if (process.started && process.exit_code == 0) return true;
  error = process.output.substr(0, process.output.find('\n'));
  if (error.empty()) error = command[0] + " ended with code " + std::to_string(process.exit_code);
  if (process.out_of_time) error += "; " + time_limit_text(confinement.limits);
  return false;
}

}  // namespace

bool is_spirv(std::string_view bytes) {
  return bytes.starts_with("\x03\x02\x23\x07") || bytes.starts_with("\x07\x23\x02\x03");
}

std::string find_llvm_spirv() {
  const char* chosen = std::getenv("LOCKSTEP_LLVM_SPIRV");
  if (chosen && *chosen) return chosen;
  for (const char* name : {"llvm-spirv-19", "llvm-spirv-18", "llvm-spirv-17", "llvm-spirv-16",
                           "llvm-spirv-15", "llvm-spirv-14", "llvm-spirv"})
    if (std::string found = find_in_path(name); !found.empty()) return found;
  return {};
}

fs::path bitcode_of_spirv(std::string_view module, const fs::path& printing, const Options& options,
                          const Confinement& confinement, std::string& error) {
  const std::string reader = find_llvm_spirv();
  if (reader.empty()) {
    error =
        "llvm-spirv is needed to read SPIR-V and was not found in PATH: install the Debian package "
        "llvm-spirv-15 (apt-get install llvm-spirv-15), or name the program in LOCKSTEP_LLVM_SPIRV";
    return {};
  }
  const fs::path worker = find_worker(error);
  if (worker.empty()) return {};
  const fs::path given = confinement.writable / "module.spv", read = confinement.writable / "module.bc",
                 ready = confinement.writable / "amdgcn.bc";
  if (!write_file(given, module, error)) return {};
  if (!ran({reader, "-r", "--spirv-gen-kernel-arg-name-md", given, "-o", read}, confinement, error)) {
    error = "damaged, or SPIR-V that " + reader + " cannot read: " + error;
    return {};
  }
  if (!ran({worker, kRetargetJob, read, ready, printing, std::to_string(options.code_object_version)},
           confinement, error))
    return {};
  return ready;
}

}  // namespace lockstep::toolchain
