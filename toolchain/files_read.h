// The files that a compilation read beside its source. While they are the same, and no other file stands
// where clang would have found it first, clang would make the same again.
#pragma once

#include <ctime>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::toolchain {

class FilesRead {
 public:
  // `dependencies`: what clang wrote as its dependency file, names as they are in the present folder; "-",
  // the standard input, has `text`, for which no file is read. `folders`: where clang looks for files of the
  // user. None if what was made may depend on more than files: on the time, or on files with names that only
  // the preprocessor knows.
  static std::optional<FilesRead> from(std::string_view dependencies, std::string_view text,
                                       std::span<const std::filesystem::path> folders);
  static std::optional<FilesRead> parse(std::string_view record);

  // One line a file; it can be parsed.
  std::string record() const;
  bool are_unchanged() const;
  // Whether one of them was written at `moment` of the system's clock or later.
  bool changed_since(const timespec& moment) const;

 private:
  struct File {
    std::string state, path;
    bool operator<(const File& other) const { return path < other.path; }
  };

  std::set<File> files_;
};

// Whether the words of a source, or of its flags, ask for the time.
bool asks_for_the_time(std::string_view text);

}  // namespace lockstep::toolchain
