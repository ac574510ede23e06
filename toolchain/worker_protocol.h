// What this library asks of its worker, and what comes back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "toolchain/compile.h"
#include "toolchain/inlined_frames.h"

namespace lockstep::toolchain {

// A worker of another build is refused. Raise with any change to requests or answers.
inline constexpr std::string_view kWorkerGreeting = "lockstep toolchain worker 3";
// The name of the program, below libexec/lockstep.
inline constexpr char kWorkerProgram[] = "lockstep-toolchain-worker";
// Its jobs, as first argument.
inline constexpr char kServeJob[] = "serve";
inline constexpr char kDeviceLibrariesJob[] = "prepare-device-libraries";
inline constexpr char kRetargetJob[] = "retarget-bitcode";

// The first number of a request.
enum class RequestKind : uint64_t { assembly = 1, frames = 2 };
std::optional<RequestKind> kind_of_request(std::string_view bytes);

struct AssemblyRequest {
  std::string text, name;
  std::string folder;                 // of the source, where includes are looked for first; may be empty
  std::string compilation_directory;  // for debug information
  Options options;                    // with paths that are absolute and limits that are set
};

std::string encode(const AssemblyRequest& request);
std::optional<AssemblyRequest> decode_request(std::string_view bytes);

struct FramesRequest {
  std::string code_object;
  std::vector<uint64_t> addresses;  // as linked
};
// A fault that is told of waits for it.
inline constexpr Limits kFrameLimits{.seconds = 10, .megabytes = 2048};

std::string encode(const FramesRequest& request);
std::optional<FramesRequest> decode_frames_request(std::string_view bytes);

// Of each address.
std::string encode(const std::vector<std::vector<Frame>>& frames);
std::optional<std::vector<std::vector<Frame>>> decode_frames(std::string_view bytes);

// The answer is a row of records, each a number and a text.
enum class Record : uint64_t { diagnostics = 1, code_object = 2 };
std::optional<Result> decode_answer(std::string_view bytes);

}  // namespace lockstep::toolchain
