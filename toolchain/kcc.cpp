// lockstep-kcc: a source file in, a gfx11 code object out. The build uses it for the examples; the command
// line proper is cli/.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "toolchain/compile.h"

namespace {

using lockstep::toolchain::Language;
using lockstep::toolchain::Options;

[[noreturn]] void usage(const char* problem, const char* what) {
  std::fprintf(
      stderr,
      "lockstep-kcc: %s %s\nusage: lockstep-kcc INPUT -o OUTPUT [-O0|-O1|-O2|-O3] [-g] [--wave 32|64]\n"
      "                    [--processor gfx1100] [--code-object-version 4|5|6] [-I DIRECTORY] [-- "
      "CLANG-FLAGS]\n",
      problem, what);
  std::exit(2);
}

unsigned number(const char* option, const char* text) {
  char* end;
  const unsigned long value = std::strtoul(text, &end, 10);
  if (*text == 0 || *end != 0 || value > 1000) usage(option, "needs a small number");
  return unsigned(value);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const char *input = nullptr, *output = nullptr;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto value = [&] { return ++i < argc ? argv[i] : (usage(argv[i - 1], "needs a value"), nullptr); };
    if (argument == "--") {
      for (++i; i < argc; ++i) options.extra_flags.push_back(argv[i]);
    } else if (argument == "-o") {
      output = value();
    } else if (argument == "-g") {
      options.debug_info = true;
    } else if (argument == "--wave") {
      options.wave_size = number("--wave", value());
    } else if (argument == "--processor") {
      options.processor = value();
    } else if (argument == "--code-object-version") {
      options.code_object_version = number("--code-object-version", value());
    } else if (argument == "-I") {
      options.include_directories.push_back(value());
    } else if (argument.starts_with("-O")) {
      options.optimization = number("-O", argv[i] + 2);
    } else if (argument.starts_with("-") || input) {
      usage("unknown argument", argv[i]);
    } else {
      input = argv[i];
    }
  }
  if (!input || !output) usage("missing", input ? "-o OUTPUT" : "INPUT");
  const std::optional<Language> language = lockstep::toolchain::language_of(input);
  if (!language)
    usage("the extension of INPUT must be .s, .S, .asm, .cl, .clcpp, .hip, .cu, .ll or .bc:", input);

  const lockstep::toolchain::Result result = lockstep::toolchain::compile_file(*language, input, options);
  std::fputs(result.diagnostics.c_str(), stderr);
  if (!result) return 1;
  std::ofstream file(output, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(result.code_object.data()),
             std::streamsize(result.code_object.size()));
  file.close();
  if (file) return 0;
  std::fprintf(stderr, "lockstep-kcc: cannot write %s\n", output);
  return 1;
}
