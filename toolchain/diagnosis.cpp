#include "toolchain/diagnosis.h"

#include <unistd.h>

#include <filesystem>

#include "cache/folder.h"
#include "toolchain/compile.h"
#include "toolchain/device_libraries.h"
#include "toolchain/installed.h"
#include "toolchain/options.h"
#include "toolchain/process.h"
#include "toolchain/spirv.h"
#include "toolchain/worker_client.h"
#include "toolchain/wrong_code.h"

namespace lockstep::toolchain {

namespace fs = std::filesystem;

namespace {

using State = Diagnosis::State;

// Without the word that every message begins with, and what follows the first line.
std::string first_line(std::string_view text) {
  constexpr std::string_view kError = "error: ";
  if (text.starts_with(kError)) text.remove_prefix(kError.size());
  return std::string(text.substr(0, text.find('\n')));
}

Diagnosis clang() {
  const std::string path = find_clang();
  if (path.empty())
    return {State::missing, "clang",
            "not found; OpenCL C, HIP and LLVM IR need it: apt-get install clang-19 lld-19"};
  const ProcessResult version = run_process({path, "-dumpversion"}, {});
  if (!version.started || version.exit_code != 0)
    return {State::missing, "clang", path + " does not run: " + first_line(version.output)};
  return {
      State::good, "clang",
      path + ", " + first_line(version.output) +
          (plugin_guard(path).flag.empty() ? ", without guards against wrong code (docs/kernel-fuzzing.md)"
                                           : "")};
}

Diagnosis device_libraries() {
  std::string error;
  const fs::path folder = find_device_libraries(error);
  if (folder.empty()) return {State::missing, "device libraries", error};
  return {State::good, "device libraries", folder.string()};
}

Diagnosis hip_headers() {
  const fs::path rocm = find_rocm();
  if (rocm.empty())
    return {State::good, "HIP headers",
            "Lockstep's own (ROCM_PATH names a ROCm whose headers are used instead)"};
  return {State::good, "HIP headers", "those of ROCm in " + rocm.string()};
}

Diagnosis worker() {
  std::string error;
  const fs::path path = find_worker(error);
  if (path.empty()) return {State::missing, "assembler", error};
  return {State::good, "assembler", path.string()};
}

Diagnosis spirv_reader() {
  const std::string path = find_llvm_spirv();
  if (path.empty())
    return {State::optional, "SPIR-V",
            "llvm-spirv not found; only .spv needs it: apt-get install llvm-spirv-15"};
  return {State::good, "SPIR-V", path};
}

Diagnosis runtime() {
  fs::path rocm = find_rocm();
  if (rocm.empty()) rocm = "/opt/rocm";
  for (const fs::path& folder : {rocm / "lib", fs::path("/usr/lib/x86_64-linux-gnu")})
    for (const char* name : {"libhsa-runtime64.so.1", "libamdhip64.so"})
      if (access((folder / name).c_str(), R_OK) == 0)
        return {State::good, "ROCm runtime", (folder / name).string() + " (for 'lockstep exec')"};
  return {State::optional, "ROCm runtime",
          "not found; only 'lockstep exec' needs it: AMD's packages, or 'make rocm' in the sources "
          "(docs/rocm.md)"};
}

Diagnosis cache_folder() {
  std::string error;
  const fs::path folder = cache::user_directory(error);
  if (folder.empty()) return {State::missing, "cache", error + " (XDG_CACHE_HOME names another folder)"};
  return {State::good, "cache", folder.string()};
}

Diagnosis compiles(Language language, std::string_view text) {
  const std::string what = "compiling " + std::string(name(language));
  const Result result = compile_text(language, text, "doctor");
  if (!result) return {State::missing, what, first_line(result.diagnostics)};
  return {State::good, what, "works"};
}

}  // namespace

std::vector<Diagnosis> diagnose() {
  std::vector<Diagnosis> out = {worker(),      clang(),        device_libraries(),
                                hip_headers(), spirv_reader(), cache_folder()};
  out.push_back(compiles(Language::assembly, "s_mov_b32 s0, 1\n"));
  out.push_back(compiles(Language::opencl,
                         "__kernel void k(__global float* x) { x[get_global_id(0)] = sin(x[0]); }\n"));
  out.push_back(
      compiles(Language::hip, "__global__ void k(float* x) { x[threadIdx.x] = std::sin(x[0]); }\n"));
  out.push_back(runtime());
  return out;
}

}  // namespace lockstep::toolchain
