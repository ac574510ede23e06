// The worker: a program of our own beside the library that does what takes LLVM to do, so that no text and no
// file can end, hang or take over the process that uses this library.
//
// One worker serves a process as long as it lives. It is started at the first request and again if it is
// gone. It has LLVM loaded and forks for each request: the fork has the request's limits, sees nothing of
// other requests, and ends with its answer. (Forking the host itself would not do: hosts have threads.
// Starting a program for each request would cost the time that LLVM takes to load, some 30 ms.) The worker is
// not a child of the host, which may wait for its children, and ends when the host does.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace lockstep::toolchain {

// A file of libexec/lockstep in one of the three folders above the library's (or that of the program that it
// is linked into). Empty with the advice in `error`.
std::filesystem::path find_installed(const char* file, std::string& error);

// $LOCKSTEP_WORKER, or the installed one.
std::filesystem::path find_worker(std::string& error);

struct WorkerAnswer {
  std::string bytes;
  std::string error;  // why there is no answer, or no whole one
};

// Any number of threads may ask at the same time. Waits `seconds` of the clock at most, or until `cancelled`,
// asked about ten times a second, says so.
WorkerAnswer ask_worker(std::string_view request, unsigned seconds,
                        const std::function<bool()>& cancelled = {});

}  // namespace lockstep::toolchain
