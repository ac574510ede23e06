#include "cli/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "cli/common.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"

namespace lockstep::cli {

namespace {

constexpr size_t kBlock = 4 << 20;
// No buffer may be larger; a pipe may have no end.
constexpr uint64_t kMostBytes = uint64_t{64} << 30;

// Bytes read, 0 at the end. A signal ends the wait.
size_t read_some(int descriptor, std::byte* to, size_t bytes, const std::string& name) {
  for (;;) {
    throw_if_interrupted();
    const ssize_t got = read(descriptor, to, bytes);
    if (got <= 0) throw_if_interrupted();
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) throw UsageError("{}: cannot be read: {}", name, std::strerror(errno));
  }
}

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

}  // namespace

std::vector<std::byte> read_file(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) throw UsageError("{}: there is no such file", path);
    throw UsageError("{}: cannot be opened: {}", path, std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) throw UsageError("{}: is a directory", path);
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
    throw UsageError("{}: is neither a file nor a pipe", path);
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  throw_if_interrupted();
  if (file.number < 0) throw UsageError("{}: cannot be opened: {}", path, std::strerror(errno));
  std::vector<std::byte> bytes;
  if (S_ISREG(status.st_mode) && static_cast<uint64_t>(status.st_size) <= kMostBytes)
    bytes.reserve(static_cast<size_t>(status.st_size) + kBlock);
  for (size_t size = 0;;) {
    bytes.resize(size + kBlock);
    const size_t got = read_some(file.number, bytes.data() + size, kBlock, path);
    size += got;
    if (size > kMostBytes) throw UsageError("{}: is larger than {}", path, short_bytes(kMostBytes));
    if (got == 0) {
      bytes.resize(size);
      return bytes;
    }
  }
}

void write_file(const std::string& path, std::string_view head, std::span<const std::byte> bytes) {
  OutputFile file(path);
  std::fwrite(head.data(), 1, head.size(), file.stream());
  while (!bytes.empty() && !std::ferror(file.stream())) {
    throw_if_interrupted();
    const auto block = bytes.first(std::min(bytes.size(), kBlock));
    std::fwrite(block.data(), 1, block.size(), file.stream());
    bytes = bytes.subspan(block.size());
  }
  file.finish();
}

bool LineReader::next(std::string& line) {
  for (size_t searched = at_;;) {
    const size_t end = read_.find('\n', searched);
    if (end != std::string::npos || (ended_ && at_ < read_.size())) {
      line = read_.substr(at_, end == std::string::npos ? end : end - at_);
      at_ = end == std::string::npos ? read_.size() : end + 1;
      return true;
    }
    if (ended_) return false;
    read_.erase(0, at_);
    at_ = 0;
    searched = read_.size();
    constexpr size_t kRead = 1 << 16, kMostLine = 1 << 26;
    if (read_.size() > kMostLine)
      throw UsageError("{}: a line is longer than {}", name_, short_bytes(kMostLine));
    read_.resize(searched + kRead);
    const size_t got =
        read_some(descriptor_, reinterpret_cast<std::byte*>(read_.data()) + searched, kRead, name_);
    read_.resize(searched + got);
    ended_ = got == 0;
  }
}

}  // namespace lockstep::cli
