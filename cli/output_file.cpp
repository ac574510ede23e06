#include "cli/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

#include "cli/common.h"

namespace lockstep::cli {

namespace {

namespace fs = std::filesystem;

// Where the path leads, the file need not be there.
std::string behind_links(fs::path path) {
  constexpr int kMostLinks = 40;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path); ++i) {
    const fs::path next = fs::read_symlink(path);
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  return path;
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

std::string name_beside(const std::string& path) {
  const fs::path target(path);
  static std::random_device random;
  return target.parent_path() /
         fmt::format(".{}.{:08x}{:08x}", target.filename().string().substr(0, 100), random(), random());
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path) {
  struct stat old{};
  const bool exists = stat(path.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode)) {
    if (S_ISDIR(old.st_mode)) fail(EISDIR);
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0 || !(stream_ = fdopen(fd, "wb"))) fail(errno);
    return;
  }
  // Not even a rename may take the place of a file that is not to be written.
  if (exists && access(path.c_str(), W_OK) != 0) fail(errno);
  target_ = behind_links(path);
  open_beside();
  if (exists) (void)!fchmod(fileno(stream_), old.st_mode & 07777);
}

void OutputFile::open_beside() {
  // Without a name it cannot stay behind, however the program ends. Not every file system has such files.
  constexpr mode_t kMode = 0666;
  int fd = open(folder_of(target_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode);
  if (fd < 0) {
    temporary_ = name_beside(target_);
    fd = open(temporary_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, kMode);
  }
  const int error = errno;
  if (fd < 0) temporary_.clear();
  if (fd < 0 || !(stream_ = fdopen(fd, "wb"))) fail(error);
}

OutputFile::~OutputFile() {
  if (stream_) std::fclose(stream_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::fail(int error) const {
  throw UsageError("{}: cannot be written: {}{}", path_, std::strerror(error),
                   error == EACCES && !target_.empty()
                       ? " (it is written beside its place first: the folder must be writable)"
                       : "");
}

void OutputFile::name_unnamed() {
  const std::string descriptor = fmt::format("/proc/self/fd/{}", fileno(stream_));
  std::string name = name_beside(target_);
  if (linkat(AT_FDCWD, descriptor.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) fail(errno);
  temporary_ = std::move(name);
}

void OutputFile::finish() {
  if (std::fflush(stream_) != 0 || std::ferror(stream_)) fail(errno ? errno : EIO);
  if (!target_.empty()) {
    if (fsync(fileno(stream_)) != 0) fail(errno);
    if (temporary_.empty()) name_unnamed();
  }
  const int closed = std::fclose(std::exchange(stream_, nullptr));
  if (closed != 0) fail(errno);
  if (target_.empty()) return;
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
  // The new name, too, is to survive a power cut; where a folder cannot be synchronized nobody can help it.
  if (const int folder = open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    (void)fsync(folder);
    close(folder);
  }
}

}  // namespace lockstep::cli
