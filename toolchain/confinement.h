// Limits for processes that read what somebody else wrote: compilers, assemblers, linkers.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "toolchain/compile.h"

namespace lockstep::toolchain {

// Past its processor time a process gets SIGXCPU, and SIGKILL this much later.
inline constexpr unsigned kGraceSeconds = 5;
// What one output file may hold.
inline constexpr uint64_t kMostFileBytes = uint64_t{1} << 30;

// Limits with their defaults filled in: what the caller asked for, else LOCKSTEP_COMPILE_SECONDS and
// LOCKSTEP_COMPILE_MEGABYTES of the environment, else what is given here.
Limits effective_limits(const Limits& asked, const Limits& defaults, std::string& error);

// Sets the limits of a process (0: this one) and of all that it will start. No core files.
bool apply_limits(pid_t process, const Limits& limits, std::string& error);

// What a process may do with files. Everything named includes what lies below it.
struct FileAccess {
  bool read_everything = false;
  std::vector<std::filesystem::path> readable;
  std::vector<std::filesystem::path> writable;
};

// Holds this thread, and the processes and threads that it starts, to `access`, for good, with the kernel's
// Landlock; they get no network and no privileges from set-user-id programs either. No: the kernel has no
// Landlock, nothing is changed, and `error` says why.
bool confine_files(const FileAccess& access, std::string& error);

// That a limit was not enough, and how to set another one.
std::string time_limit_text(const Limits& limits);
std::string memory_limit_text(const Limits& limits);

}  // namespace lockstep::toolchain
