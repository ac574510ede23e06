#include "toolchain/worker_link.h"

#include <lld/Common/Driver.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "toolchain/files.h"

LLD_HAS_DRIVER(elf)

namespace lockstep::toolchain {

namespace {

// lld takes paths only. A file in memory has one, and needs no directory to be left behind.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (fd_ >= 0) close(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int fd() const { return fd_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

  bool write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return false;
      bytes.remove_prefix(size_t(written));
    }
    return fd_ >= 0;
  }

 private:
  int fd_;
};

// Where the kernel has no Landlock the worker leaves the assembler no descriptors. Its text has been read by
// now, and lld opens nothing but the files that it is given.
void allow_files() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

Result failure(const std::string& why) {
  Result result;
  result.diagnostics = "error: " + why + "\n";
  return result;
}

}  // namespace

Result link(std::string_view object, std::string_view name) {
  allow_files();
  const MemoryFile input("object"), output("code object");
  if (!input.write(object) || dup2(output.fd(), STDOUT_FILENO) < 0)
    return failure(std::string("cannot make files in memory: ") + std::strerror(errno));
  // lld removes a file that has the name of its output.
  if (chdir("/") != 0) return failure(std::string("cannot go to /: ") + std::strerror(errno));

  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const std::string path = input.path();
  const char* const arguments[] = {
      "ld.lld", "-shared", "--no-undefined", "--no-dependent-libraries", "--threads=1",
      "-o",     "-",       path.c_str()};
  const lld::Result linked = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  stream.flush();
  for (size_t at = messages.find(path); at != messages.npos; at = messages.find(path, at + name.size()))
    messages.replace(at, path.size(), name);
  Result result;
  result.diagnostics = messages;
  if (linked.retCode != 0) {
    if (messages.empty()) result.diagnostics = "error: the linker failed without a message\n";
    return result;
  }
  std::string error;
  if (!read_file(output.path(), result.code_object, error)) result.diagnostics += "error: " + error + "\n";
  return result;
}

}  // namespace lockstep::toolchain
