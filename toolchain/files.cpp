#include "toolchain/files.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace lockstep::toolchain {

namespace fs = std::filesystem;

namespace {

std::string system_error(std::string_view what, const fs::path& path) {
  return std::string(what) + " " + path.string() + ": " + std::strerror(errno);
}

fs::path make_unique_directory(std::string pattern, std::string& error) {
  if (mkdtemp(pattern.data())) return pattern;
  error = system_error("cannot make a directory like", pattern);
  return {};
}

fs::path temporary_root() {
  std::error_code ignored;
  fs::path root = fs::temp_directory_path(ignored);
  return root.empty() ? fs::path("/tmp") : root;
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  path_ = make_unique_directory((temporary_root() / "lockstep-XXXXXX").string(), error_);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

fs::path make_staging_directory(const fs::path& final_path, std::string& error) {
  return make_unique_directory(final_path.string() + ".part-XXXXXX", error);
}

bool read_file(const fs::path& path, std::vector<std::byte>& out, std::string& error) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) {
    error = "cannot read " + path.string() + ": it is a directory";
    return false;
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    error = system_error("cannot read", path);
    return false;
  }
  char block[65536];
  out.clear();
  while (file.read(block, sizeof block), file.gcount() > 0) {
    const auto* bytes = reinterpret_cast<const std::byte*>(block);
    out.insert(out.end(), bytes, bytes + file.gcount());
  }
  if (!file.bad()) return true;
  error = system_error("cannot read", path);
  return false;
}

bool write_file(const fs::path& path, std::string_view contents, std::string& error) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(contents.data(), std::streamsize(contents.size()));
  file.flush();
  if (file) return true;
  error = system_error("cannot write", path);
  return false;
}

}  // namespace lockstep::toolchain
