#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "api/lockstep.hpp"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/launch.h"
#include "text/visible.h"

namespace lockstep::cli {
namespace {

// Source files are read once; one that is not there is shown by name and line only, and so is what is no file
// of a source's size: the code object may name anything.
class SourceText {
 public:
  const std::string& line(const std::string& path, uint32_t number) {
    auto [it, fresh] = files_.try_emplace(path);
    if (fresh) {
      constexpr uintmax_t kMostBytes = 64 << 20;
      std::error_code problem;
      if (!std::filesystem::is_regular_file(path, problem) ||
          std::filesystem::file_size(path, problem) > kMostBytes || problem)
        return none_;
      std::ifstream in(path);
      for (std::string text; std::getline(in, text);) it->second.push_back(visible(text, std::string::npos));
    }
    return number >= 1 && number <= it->second.size() ? it->second[number - 1] : none_;
  }

 private:
  std::map<std::string, std::vector<std::string>> files_;
  const std::string none_;
};

struct Listing {
  const DisasmOptions& options;
  SourceText sources;
  std::string last_file;
  uint32_t last_line = 0;
};

int print_line(void* user, const lockstep_listing_line* l) {
  auto& listing = *static_cast<Listing*>(user);
  if (l->function) {
    print("\n{}:{}\n", l->function, l->is_kernel ? "  ; kernel" : "");
    listing.last_line = 0;
  }
  if (!listing.options.no_source && l->line &&
      (l->line != listing.last_line || l->file != listing.last_file)) {
    listing.last_file = l->file;
    listing.last_line = l->line;
    print("; {}:{}  {}\n", l->file, l->line, listing.sources.line(l->file, l->line));
  }
  std::string bytes;
  if (listing.options.bytes)
    for (uint32_t i = 0; i < l->size; ++i)
      bytes += fmt::format("{:02x}{}", l->bytes[i], i % 4 == 3 ? " " : "");
  if (listing.options.bytes) bytes = fmt::format("{:<28}", bytes);
  if (*l->problem)
    print("  {:06x}  {}; invalid: {}\n", l->address, bytes, l->problem);
  else
    print("  {:06x}  {}{}\n", l->address, bytes, l->text);
  return output_is_lost() || interrupted();
}

// Bytes of a line such as "0x01,0x05, 0a # comment". False if something else is in it.
bool parse_bytes(std::string_view line, std::vector<uint8_t>& out) {
  out.clear();
  line = line.substr(0, line.find('#'));
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(", \t\r[]"), line.size()));
    if (line.empty()) return true;
    size_t end = std::min(line.find_first_of(", \t\r[]"), line.size());
    std::string_view word = line.substr(0, end);
    line.remove_prefix(end);
    if (word.starts_with("0x") || word.starts_with("0X")) word.remove_prefix(2);
    unsigned value = 0;
    auto [rest, problem] = std::from_chars(word.data(), word.data() + word.size(), value, 16);
    if (problem != std::errc() || rest != word.data() + word.size() || value > 0xff) return false;
    out.push_back(static_cast<uint8_t>(value));
  }
}

int disassemble_hex(uint32_t wave) {
  LineReader input(STDIN_FILENO, "the standard input");
  std::string line;
  std::vector<uint8_t> bytes;
  char text[512];
  uint64_t number = 0;
  int exit_code = kDone;
  while (!output_is_lost() && input.next(line)) {
    ++number;
    const bool good = parse_bytes(line, bytes);
    if (good && bytes.empty()) continue;
    if (!good) {
      report("error: line {}: '{}' is not a list of bytes such as 0x01,0x05,0x0a,0x06\n", number,
             visible(line));
      exit_code = kBadInput;
    }
    const bool known = good && lockstep_disassemble(bytes.data(), bytes.size(), wave, text, sizeof text);
    print("{}\n", known ? text : "invalid");
  }
  return exit_code;
}

}  // namespace

int disasm(const DisasmOptions& o) {
  if (o.hex) {
    if (!o.input.empty()) throw UsageError("--hex reads the standard input; leave FILE '{}' away", o.input);
    return disassemble_hex(o.wave);
  }
  if (o.input.empty())
    throw UsageError("no FILE is given (or give --hex to read bytes from the standard input)");
  Compilation compilation(o.compiler);
  lockstep_compile_options& compile = compilation.options;
  compile.wave_size = o.wave;
  compile.debug_info = 1;
  CodeObject code = open_with_progress(o.input, compile);
  if (!o.kernel.empty()) choose_kernel(code, o.kernel, o.input);  // says which there are
  Listing listing{o, {}, "", 0};
  check(lockstep_code_object_disassemble(code.get(), o.kernel.empty() ? nullptr : o.kernel.c_str(),
                                         print_line, &listing));
  return kDone;
}

}  // namespace lockstep::cli
