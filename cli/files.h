// Whole files.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::cli {

// Of a regular file or a pipe. Throws UsageError, and Interrupted.
std::vector<std::byte> read_file(const std::string& path);
// See OutputFile.
void write_file(const std::string& path, std::string_view head, std::span<const std::byte> bytes);

// Reads on until the next newline; false at the end of the input. Throws UsageError if the descriptor cannot
// be read, and Interrupted.
class LineReader {
 public:
  LineReader(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}
  bool next(std::string& line);

 private:
  const int descriptor_;
  const std::string name_;
  std::string read_;
  size_t at_ = 0;
  bool ended_ = false;
};

}  // namespace lockstep::cli
