// Small file matters of this folder: whole-file reading and writing, temporary directories.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::toolchain {

// A fresh private directory that vanishes with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  // Empty if none could be made; error() says why.
  const std::filesystem::path& path() const { return path_; }
  const std::string& error() const { return error_; }

 private:
  std::filesystem::path path_;
  std::string error_;
};

// Makes an empty directory beside `final_path` to be filled and then renamed to it. Empty on failure.
std::filesystem::path make_staging_directory(const std::filesystem::path& final_path, std::string& error);

// Bytes as text.
inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool read_file(const std::filesystem::path& path, std::vector<std::byte>& out, std::string& error);
bool write_file(const std::filesystem::path& path, std::string_view contents, std::string& error);

}  // namespace lockstep::toolchain
