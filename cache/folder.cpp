#include "cache/folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

namespace lockstep::cache {

namespace fs = std::filesystem;

namespace {

bool is_own(const struct stat& status) {
  return S_ISDIR(status.st_mode) && status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Ours is for this user alone, whatever umask is.
bool is_usable(const fs::path& path) {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  mkdir(path.c_str(), 0700);
  return access(path.c_str(), R_OK | W_OK | X_OK) == 0;
}

}  // namespace

fs::path user_directory(std::string& error) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && cache[0] == '/' && is_usable(fs::path(cache) / "lockstep"))
    return fs::path(cache) / "lockstep";
  const char* home = std::getenv("HOME");
  if (home && home[0] == '/' && is_usable(fs::path(home) / ".cache/lockstep"))
    return fs::path(home) / ".cache/lockstep";
  std::error_code ignored;
  fs::path temporary = fs::temp_directory_path(ignored);
  if (temporary.empty()) temporary = "/tmp";
  const fs::path fallback = temporary / ("lockstep-" + std::to_string(geteuid()));
  mkdir(fallback.c_str(), 0700);
  // Anybody may make names in the temporary directory.
  struct stat status;
  if (lstat(fallback.c_str(), &status) == 0 && is_own(status)) return fallback;
  error =
      "no writable cache directory: set XDG_CACHE_HOME to one (tried $XDG_CACHE_HOME/lockstep, "
      "$HOME/.cache/lockstep and " +
      fallback.string() + ")";
  return {};
}

bool is_private(const fs::path& folder) {
  std::error_code failed;
  const fs::path real = fs::canonical(folder, failed);
  if (failed) return false;
  for (fs::path at = real;; at = at.parent_path()) {
    struct stat status;
    if (lstat(at.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
    const bool others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    if (at == real ? !is_own(status)
                   : (status.st_uid != geteuid() && status.st_uid != 0) ||
                         (others_write && (status.st_mode & S_ISVTX) == 0))
      return false;
    if (at == at.root_path()) return true;
  }
}

}  // namespace lockstep::cache
