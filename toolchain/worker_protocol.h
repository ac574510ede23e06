// What this library asks of its worker, and what comes back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "toolchain/compile.h"

namespace lockstep::toolchain {

// A worker of another build is refused. Raise with any change to requests or answers.
inline constexpr std::string_view kWorkerGreeting = "lockstep toolchain worker 1";
// The name of the program, below libexec/lockstep.
inline constexpr char kWorkerProgram[] = "lockstep-toolchain-worker";
// Its jobs, as first argument.
inline constexpr char kServeJob[] = "serve";
inline constexpr char kDeviceLibrariesJob[] = "prepare-device-libraries";

struct AssemblyRequest {
  std::string text, name;
  std::string folder;                 // of the source, where includes are looked for first; may be empty
  std::string compilation_directory;  // for debug information
  Options options;                    // with paths that are absolute and limits that are set
};

std::string encode(const AssemblyRequest& request);
std::optional<AssemblyRequest> decode_request(std::string_view bytes);

// The answer is a row of records, each a number and a text.
enum class Record : uint64_t { diagnostics = 1, code_object = 2 };
std::optional<Result> decode_answer(std::string_view bytes);

}  // namespace lockstep::toolchain
