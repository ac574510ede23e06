#include "toolchain/installed.h"

#include <unistd.h>

#include <cstdlib>

#include "toolchain/process.h"

namespace lockstep::toolchain {

namespace fs = std::filesystem;

namespace {

// LLVM has a new version each half year. Before 19 the device libraries and our flags do not fit.
constexpr int kOldestClang = 19, kNewestClang = 40;

bool is_program(const fs::path& path) {
  return access(path.c_str(), X_OK) == 0;
}

// A program of a version of LLVM: with the number in its name in PATH, or in the folder of its package.
std::string find_of_version(const std::string& name, int version) {
  const std::string number = std::to_string(version);
  std::string found = find_in_path(name + "-" + number);
  if (found.empty())
    if (const fs::path packaged = fs::path("/usr/lib/llvm-" + number) / "bin" / name; is_program(packaged))
      found = packaged;
  return found;
}

}  // namespace

std::string find_clang() {
  const char* chosen = std::getenv("LOCKSTEP_CLANG");
  if (chosen && *chosen) return chosen;
  for (int version = kNewestClang; version >= kOldestClang; --version) {
    const std::string clang = find_of_version("clang", version);
    // Without its linker the oldest is taken nevertheless: its message says what to install.
    if (!clang.empty() && (version == kOldestClang || !find_of_version("ld.lld", version).empty()))
      return clang;
  }
  return {};
}

fs::path find_rocm() {
  const char* chosen = std::getenv("ROCM_PATH");
  for (const fs::path& folder : {fs::path(chosen ? chosen : ""), fs::path("/opt/rocm"), fs::path("/usr")})
    if (!folder.empty() && access((folder / "include/hip/hip_runtime.h").c_str(), R_OK) == 0) return folder;
  return {};
}

}  // namespace lockstep::toolchain
