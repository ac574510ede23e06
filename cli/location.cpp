#include "cli/location.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "text/visible.h"

namespace lockstep::cli {

namespace {

// Code objects name any file: only the line of an ordinary one is shown, and no more of it than a line has.
std::string source_line(const char* path, uint32_t number) {
  std::error_code ignored;
  if (number == 0 || !std::filesystem::is_regular_file(path, ignored)) return {};
  constexpr size_t kLongest = 200;
  std::ifstream file(path);
  std::string line;
  for (uint32_t i = 0; i < number; ++i)
    if (!std::getline(file, line)) return {};
  const size_t begin = line.find_first_not_of(" \t");
  return begin == line.npos ? std::string() : visible(line.substr(begin), kLongest);
}

}  // namespace

std::string fault_text(const lockstep_device* device) {
  std::string text = lockstep_last_error();
  const lockstep_fault* fault = lockstep_device_fault(device);
  if (!fault || !fault->file || !*fault->file) return text;
  const std::string line = source_line(fault->file, fault->line);
  const size_t at = text.find(fmt::format(":{}\n", fault->line), text.find("\n  at "));
  if (line.empty() || at == text.npos) return text;
  return text.insert(text.find('\n', at), "\n    | " + line);
}

std::string place(const lockstep_code_location& location) {
  std::string text = fmt::format("kernel + {:#x}: {}", location.offset, location.instruction);
  if (*location.file) text += fmt::format("  at {}:{}", location.file, location.line);
  return text;
}

}  // namespace lockstep::cli
