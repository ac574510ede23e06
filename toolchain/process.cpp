#include "toolchain/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "toolchain/confinement.h"
#include "toolchain/descriptor.h"

extern char** environ;

namespace lockstep::toolchain {

namespace {

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

// What a compiler may say: hostile text can make it say the same for ever.
constexpr size_t kMostOutput = size_t{4} << 20;

constexpr int kAskMilliseconds = 100;

// Feeds and drains the child at once, so that neither side can block the other. False: it was cancelled
// before the child was done.
bool exchange(Descriptor& to_child, Descriptor& from_child, std::string_view input, std::string& output,
              const std::function<bool()>& cancelled) {
  const SigpipeGuard guard;
  fcntl(to_child.get(), F_SETFL, O_NONBLOCK);
  if (input.empty()) to_child.reset();
  while (from_child.get() >= 0) {
    pollfd polled[2] = {{from_child.get(), POLLIN, 0}, {to_child.get(), POLLOUT, 0}};
    const int ready = poll(polled, 2, cancelled ? kAskMilliseconds : -1);
    if (cancelled && cancelled()) return false;
    if (ready < 0) {
      if (errno == EINTR) continue;
      return true;
    }
    if (polled[1].revents) {
      const ssize_t written = write(to_child.get(), input.data(), input.size());
      if (written > 0) input.remove_prefix(size_t(written));
      if (input.empty() || (written < 0 && errno != EAGAIN && errno != EINTR)) to_child.reset();
    }
    if (polled[0].revents) {
      char block[16384];
      const ssize_t got = read(from_child.get(), block, sizeof block);
      if (got > 0 && output.size() < kMostOutput) output.append(block, size_t(got));
      if (got == 0 || (got < 0 && errno != EINTR)) from_child.reset();
    }
  }
  return true;
}

struct Spawned {
  pid_t child = -1;
  int failed = 0;
};

// `temporary`: where the child puts its temporary files; empty: where everybody does.
Spawned spawn(const std::vector<std::string>& arguments, int input, int output,
              const std::string& temporary) {
  std::vector<char*> argv, environment;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::string variable = "TMPDIR=" + temporary;
  for (char** entry = environ; *entry; ++entry)
    if (temporary.empty() || std::strncmp(*entry, "TMPDIR=", 7) != 0) environment.push_back(*entry);
  if (!temporary.empty()) environment.push_back(variable.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  Spawned result;
  result.failed = posix_spawnp(&result.child, argv[0], &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  return result;
}

// Landlock holds a thread and what it starts: this one starts the child and ends. A kernel without it
// confines nothing.
Spawned spawn_confined(const std::vector<std::string>& arguments, int input, int output,
                       const Confinement& confinement) {
  Spawned result;
  std::thread([&] {
    FileAccess access{
        .read_everything = true, .readable = {}, .writable = {confinement.writable, "/dev/null"}};
    std::string ignored;
    confine_files(access, ignored);
    result = spawn(arguments, input, output, confinement.writable);
    if (result.failed) return;
    // The child has had a moment without limits, too short for it to matter; what counts is the sum.
    apply_limits(result.child, confinement.limits, ignored);
  }).join();
  return result;
}

ProcessResult run(const std::vector<std::string>& arguments, std::string_view input,
                  const Confinement* confinement) {
  ProcessResult result;
  Descriptor child_input, to_child, from_child, child_output;
  if (!make_pipe(child_input, to_child) || !make_pipe(from_child, child_output)) {
    result.output = std::string("cannot make a pipe: ") + std::strerror(errno);
    return result;
  }
  const Spawned spawned = confinement
                              ? spawn_confined(arguments, child_input.get(), child_output.get(), *confinement)
                              : spawn(arguments, child_input.get(), child_output.get(), {});
  if (spawned.failed) {
    result.output = "cannot run " + arguments[0] + ": " + std::strerror(spawned.failed);
    return result;
  }
  child_input.reset();
  child_output.reset();
  result.started = true;
  static const std::function<bool()> never;
  if (!exchange(to_child, from_child, input, result.output, confinement ? confinement->cancelled : never))
    kill(spawned.child, SIGKILL);
  int status = 0;
  rusage used{};
  while (wait4(spawned.child, &status, 0, &used) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (confinement) {
    // A compiler may turn the signal into an exit code.
    const uint64_t milliseconds = uint64_t(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
                                  uint64_t(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
    result.out_of_time =
        result.exit_code == 128 + SIGXCPU ||
        (result.exit_code != 0 && milliseconds >= confinement->limits.seconds * uint64_t{1000});
  }
  return result;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments, std::string_view input) {
  return run(arguments, input, nullptr);
}

ProcessResult run_process(const std::vector<std::string>& arguments, std::string_view input,
                          const Confinement& confinement) {
  return run(arguments, input, &confinement);
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
