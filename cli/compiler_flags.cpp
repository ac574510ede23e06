#include "cli/compiler_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <span>
#include <string_view>

#include "cli/common.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

namespace lockstep::cli {
namespace {

constexpr const char* kCompilerGroup = "Compiling source";

// Flags whose value follows: joined to them, or as the next argument.
constexpr std::string_view kJoined[] = {"-D", "-U", "-I"};
// As the next argument.
constexpr std::string_view kSeparate[] = {"-include", "-isystem"};
// Everything that begins so is a flag of its own.
constexpr std::string_view kBeginnings[] = {"-cl-", "-std=", "-f", "-m", "-W"};
constexpr std::string_view kCompilingCommands[] = {"run", "check", "info", "disasm"};

bool is_one_of(std::span<const std::string_view> names, std::string_view text) {
  return std::find(names.begin(), names.end(), text) != names.end();
}

// Longer than it, too.
bool begins_with_one_of(std::span<const std::string_view> beginnings, std::string_view text) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [text](std::string_view b) { return text.size() > b.size() && text.starts_with(b); });
}

}  // namespace

void add_compiler_options(CLI::App& command, CompilerOptions& options) {
  command.add_option("-O,--optimize", options.optimization, "optimization level")
      ->check(CLI::Range(0, 3))
      ->capture_default_str()
      ->group(kCompilerGroup);
  command
      .add_option(
          "--flag", options.flags,
          "a flag for the compiler; -DNAME=VALUE, -U, -I FOLDER, -include FILE, -isystem FOLDER, -cl-..., "
          "-std=..., -f..., -m..., -W... may be given as they are")
      ->group(kCompilerGroup);
}

std::vector<std::string> take_sources(std::vector<std::string>& arguments) {
  const auto is_file = [](const std::string& text) {
    char* end = nullptr;
    std::strtod(text.c_str(), &end);
    if (end + 1 >= text.c_str() + text.size()) return false;  // 1.e5, 2.f
    const size_t dot = text.rfind('.');
    return dot != text.npos && dot + 1 < text.size() && text.find_first_of(":=") == text.npos &&
           std::isalpha(static_cast<unsigned char>(text[dot + 1])) && text.find('/', dot) == text.npos;
  };
  const auto end = std::find_if_not(arguments.begin(), arguments.end(), is_file);
  std::vector<std::string> sources(arguments.begin(), end);
  arguments.erase(arguments.begin(), end);
  return sources;
}

std::vector<std::string> with_long_flags(int argc, const char* const* argv) {
  std::vector<std::string> out(argv, argv + argc);
  if (argc < 2 || !is_one_of(kCompilingCommands, argv[1])) return out;
  out.resize(2);
  for (int i = 2; i < argc; ++i) {
    const std::string text = argv[i];
    const bool has_next = i + 1 < argc;
    if (text == "--") {
      out.insert(out.end(), argv + i, argv + argc);
      break;
    }
    if (text == "--flag" && has_next) {  // its value may look like anything
      out.push_back(text + "=" + argv[++i]);
    } else if (is_one_of(kJoined, text) || is_one_of(kSeparate, text)) {
      out.push_back("--flag=" + text);
      if (has_next) out.push_back(std::string("--flag=") + argv[++i]);
    } else if (begins_with_one_of(kJoined, text) || begins_with_one_of(kBeginnings, text)) {
      out.push_back("--flag=" + text);
    } else {
      out.push_back(text);
    }
  }
  return out;
}

Compilation::Compilation(const CompilerOptions& given) {
  lockstep_compile_options_init(&options);
  for (const std::string& flag : given.flags) flags_.push_back(flag.c_str());
  options.flags = flags_.data();
  options.flag_count = static_cast<uint32_t>(flags_.size());
  for (const std::string& source : given.sources) sources_.push_back(source.c_str());
  options.sources = sources_.data();
  options.source_count = static_cast<uint32_t>(sources_.size());
  options.optimization = given.optimization;
  options.cancelled = stop_if_interrupted;
}

CodeObject open_with_progress(const std::string& path, lockstep_compile_options options, bool quiet) {
  if (path.ends_with(".toml"))
    throw UsageError("{}: is a job, which lockstep run takes; name the code that stands in it", path);
  ProgressLine progress(quiet);
  progress.connect(options, path);
  return CodeObject::open(path, &options);
}

}  // namespace lockstep::cli
