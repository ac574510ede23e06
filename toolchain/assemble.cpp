#include "toolchain/confinement.h"
#include "toolchain/options.h"
#include "toolchain/worker_client.h"
#include "toolchain/worker_protocol.h"

namespace lockstep::toolchain {

namespace fs = std::filesystem;

namespace {

constexpr Limits kLimits{.seconds = 60, .megabytes = 2048};
constexpr size_t kMostText = size_t{64} << 20;
// A busy machine gives a process a share of the clock's time; and then there is what takes none, as an
// .incbin of a pipe that nobody writes to.
constexpr unsigned kClockFactor = 10;

fs::path full_path(const fs::path& path) {
  std::error_code failed;
  fs::path result = fs::absolute(path, failed);
  return failed ? path : result;
}

// Of clang's flags the assembler knows -I. Empty, or what is wrong.
std::string take_flags(Options& options) {
  for (size_t i = 0; i < options.extra_flags.size(); ++i) {
    const std::string& flag = options.extra_flags[i];
    if (flag == "-I" && i + 1 < options.extra_flags.size())
      options.include_directories.push_back(options.extra_flags[++i]);
    else if (flag.starts_with("-I") && flag.size() > 2)
      options.include_directories.push_back(flag.substr(2));
    else
      return "the flag " + flag + " means nothing to the assembler (of clang's flags it knows -I DIRECTORY)";
  }
  options.extra_flags.clear();
  return {};
}

Result failure(std::string_view name, const std::string& why) {
  return {{}, std::string(name) + ": error: " + why + "\n"};
}

}  // namespace

Result assemble_from(const fs::path& folder, std::string_view text, std::string_view name,
                     const Options& options) {
  AssemblyRequest request{.text = std::string(text),
                          .name = std::string(name),
                          .folder = folder.empty() ? std::string() : full_path(folder).string(),
                          .compilation_directory = full_path(".").lexically_normal().string(),
                          .options = options};
  std::string problem = check(options);
  if (problem.empty() && !options.more_sources.empty())
    problem = "assembly is one file, which may .include others; " + options.more_sources[0].string() +
              " cannot be linked with it";
  if (problem.empty()) problem = take_flags(request.options);
  if (problem.empty() && text.size() > kMostText)
    problem = "the text has " + std::to_string(text.size()) + " bytes; the assembler takes up to " +
              std::to_string(kMostText);
  Limits& limits = request.options.limits;
  if (problem.empty()) limits = effective_limits(limits, kLimits, problem);
  if (!problem.empty()) return failure(name, problem);
  for (fs::path& directory : request.options.include_directories) directory = full_path(directory);

  const uint64_t seconds =
      std::min<uint64_t>(uint64_t{limits.seconds + kGraceSeconds} * kClockFactor, 1'000'000);
  const WorkerAnswer answer = ask_worker(encode(request), unsigned(seconds), options.cancelled);
  if (answer.bytes.empty() && !answer.error.empty()) return failure(name, "the assembler: " + answer.error);
  std::optional<Result> result = decode_answer(answer.bytes);
  if (!result) return failure(name, "the assembler: no whole answer " + answer.error);
  if (!*result && result->diagnostics.empty()) return failure(name, "the assembler failed without a message");
  return *std::move(result);
}

Result assemble(std::string_view text, std::string_view name, const Options& options) {
  return assemble_from({}, text, name, options);
}

}  // namespace lockstep::toolchain
