#include "toolchain/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace lockstep::toolchain {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

bool make_pipe(Descriptor& read_end, Descriptor& write_end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  return true;
}

// A child that exits early closes its standard input; writing to it must be an error here, not a SIGPIPE that
// ends the program that uses this library. MSG_NOSIGNAL is for sockets only, so the signal is blocked in this
// thread and any that became pending is taken away.
class SigpipeGuard {
 public:
  SigpipeGuard() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set_, &old_);
  }
  ~SigpipeGuard() {
    const timespec none{};
    if (!was_pending_) {
      while (sigtimedwait(&set_, nullptr, &none) == -1 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &old_, nullptr);
  }

 private:
  sigset_t set_, old_;
  bool was_pending_;
};

// Feeds and drains the child at once, so that neither side can block the other.
void exchange(Descriptor& to_child, Descriptor& from_child, std::string_view input, std::string& output) {
  const SigpipeGuard guard;
  fcntl(to_child.get(), F_SETFL, O_NONBLOCK);
  if (input.empty()) to_child.reset();
  while (from_child.get() >= 0) {
    pollfd polled[2] = {{from_child.get(), POLLIN, 0}, {to_child.get(), POLLOUT, 0}};
    if (poll(polled, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (polled[1].revents) {
      const ssize_t written = write(to_child.get(), input.data(), input.size());
      if (written > 0) input.remove_prefix(size_t(written));
      if (input.empty() || (written < 0 && errno != EAGAIN && errno != EINTR)) to_child.reset();
    }
    if (polled[0].revents) {
      char block[16384];
      const ssize_t got = read(from_child.get(), block, sizeof block);
      if (got > 0) output.append(block, size_t(got));
      if (got == 0 || (got < 0 && errno != EINTR)) from_child.reset();
    }
  }
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments, std::string_view input) {
  ProcessResult result;
  Descriptor child_input, to_child, from_child, child_output;
  if (!make_pipe(child_input, to_child) || !make_pipe(from_child, child_output)) {
    result.output = std::string("cannot make a pipe: ") + std::strerror(errno);
    return result;
  }
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, child_input.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, child_output.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, child_output.get(), STDERR_FILENO);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) {
    result.output = "cannot run " + arguments[0] + ": " + std::strerror(failed);
    return result;
  }
  child_input.reset();
  child_output.reset();
  result.started = true;
  exchange(to_child, from_child, input, result.output);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

std::string find_in_path(std::string_view program) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    const size_t end = rest.find(':');
    std::string candidate(rest.substr(0, end));
    candidate += candidate.empty() ? "./" : "/";
    candidate += program;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return {};
}

}  // namespace lockstep::toolchain
