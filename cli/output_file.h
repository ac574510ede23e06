// A file that is written whole or not at all.
#pragma once

#include <cstdio>
#include <string>

namespace lockstep::cli {

// Writes beside the file of that name and takes its place when it is complete and on the disk; until then,
// and if it comes to nothing, the old file stays as it is. What is no regular file (a device, a pipe) is
// written to as it stands. All but the destructor throw UsageError.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::FILE* stream() const { return stream_; }
  void finish();

 private:
  [[noreturn]] void fail(int error) const;
  void open_beside();
  void name_unnamed();

  std::string path_;
  std::string target_;     // where it will be: links followed; empty: written in place
  std::string temporary_;  // its name until then; empty: it has none
  std::FILE* stream_ = nullptr;
};

}  // namespace lockstep::cli
