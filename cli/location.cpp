#include "cli/location.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "text/visible.h"

namespace lockstep::cli {

std::string SourceLines::line(const char* path, uint32_t number) {
  constexpr size_t kMostLines = 1000000, kMostShown = 200;
  if (!*path || number == 0) return {};
  auto [entry, is_new] = files_.try_emplace(path);
  std::vector<std::string>& lines = entry->second;
  std::error_code ignored;
  if (is_new && std::filesystem::is_regular_file(path, ignored)) {
    std::ifstream file(path);
    for (std::string each; lines.size() < kMostLines && std::getline(file, each);) lines.push_back(each);
  }
  if (number > lines.size()) return {};
  const std::string& text = lines[number - 1];
  const size_t first = text.find_first_not_of(" \t");
  return first == text.npos ? std::string() : visible(std::string_view(text).substr(first), kMostShown);
}

std::string fault_text(const lockstep_device* device) {
  std::string text = lockstep_last_error();
  const lockstep_fault* fault = lockstep_device_fault(device);
  if (!fault || !fault->file) return text;
  // Behind its own place and those of the functions that it was inlined into.
  SourceLines lines;
  for (size_t at = 0; (at = text.find('\n', at)) != text.npos;) {
    const size_t begin = ++at, end = std::min(text.find('\n', begin), text.size());
    const std::string_view row = std::string_view(text).substr(begin, end - begin);
    if (!row.starts_with("  at ") && !row.starts_with("  inlined into ")) continue;
    const size_t before_path = row.find(" at "), path = before_path + 4, colon = row.rfind(':');
    uint32_t number = 0;
    if (before_path == row.npos || colon == row.npos || colon < path ||
        std::from_chars(row.data() + colon + 1, row.data() + row.size(), number).ec != std::errc())
      continue;
    const std::string line = lines.line(std::string(row.substr(path, colon - path)).c_str(), number);
    if (!line.empty()) text.insert(end, "\n    | " + line);
  }
  return text;
}

std::string place(const lockstep_code_location& location) {
  // Functions may stand before the kernel.
  const auto offset = static_cast<int64_t>(location.offset);
  std::string text = fmt::format("kernel {} {:#x}: {}", offset < 0 ? '-' : '+',
                                 offset < 0 ? -location.offset : location.offset, location.instruction);
  if (*location.file) text += fmt::format("  at {}:{}", location.file, location.line);
  return text;
}

}  // namespace lockstep::cli
