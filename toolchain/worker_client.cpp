#include "toolchain/worker_client.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include "toolchain/descriptor.h"
#include "toolchain/worker_protocol.h"

extern char** environ;

namespace lockstep::toolchain {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

// More than any code object with its messages.
constexpr size_t kMostAnswer = size_t{3} << 30;
// From the folder of the library up to the one that holds libexec: <prefix>/lib/<architecture>, and a level
// more in a build tree.
constexpr int kMostLevels = 3;
constexpr auto kStartTime = std::chrono::seconds(120);

// Who may write where the library lies may replace the library, too; a program of somebody else does not
// count.
bool may_be_run(const fs::path& path, const struct stat& library) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), R_OK) == 0 &&
         (status.st_uid == library.st_uid || status.st_uid == 0 || status.st_uid == geteuid());
}

// Milliseconds for poll(), never negative.
int left_until(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return int(std::clamp<int64_t>(left, 0, 1'000'000'000));
}

// How long to wait for the worker.
struct Patience {
  Clock::time_point end;
  const std::function<bool()>& cancelled;
};

// False at the end of the patience.
bool wait_for(int fd, short events, const Patience& patience) {
  constexpr int kAskMilliseconds = 100;
  for (;;) {
    pollfd polled{fd, events, 0};
    const int left = left_until(patience.end);
    const int ready = poll(&polled, 1, patience.cancelled ? std::min(left, kAskMilliseconds) : left);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
    if (Clock::now() >= patience.end || (patience.cancelled && patience.cancelled())) return false;
  }
}

// The connection to a running worker. Requests hold it while they use it.
class Connection {
 public:
  static std::shared_ptr<Connection> start(std::string& error) {
    const fs::path program = find_worker(error);
    if (program.empty()) return nullptr;
    auto result = std::make_shared<Connection>();
    Descriptor theirs;
    if (!make_socket_pair(SOCK_SEQPACKET, result->control_, theirs)) {
      error = std::string("cannot make a socket: ") + std::strerror(errno);
      return nullptr;
    }
    const int code = spawn(program, theirs.get());
    theirs.reset();
    if (code == 0 && result->greeted(error)) return result;
    if (error.empty())
      error = "cannot start " + program.string() + ": " +
              (code < 0 ? std::strerror(-code) : "it ended with code " + std::to_string(code)) +
              " (run it by hand to see why)";
    return nullptr;
  }

  // Gives a worker the ends of a socket and of a pipe. No: the worker is gone.
  bool hand_over(int data, int status) const {
    char byte = 0;
    iovec vector{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(2 * sizeof(int));
    const int descriptors[] = {data, status};
    std::memcpy(CMSG_DATA(header), descriptors, sizeof descriptors);
    ssize_t sent;
    do sent = sendmsg(control_.get(), &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == 1;
  }

 private:
  // 0, an exit code, or the negative of an error number. The program leaves a child of its own behind and
  // ends.
  static int spawn(const fs::path& program, int control) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, control, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const std::string path = program.string(), job = kServeJob;
    char* const arguments[] = {const_cast<char*>(path.c_str()), const_cast<char*>(job.c_str()), nullptr};
    pid_t child = -1;
    const int failed = posix_spawn(&child, path.c_str(), &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) return -failed;
    int status = 0;
    pid_t ended;
    do ended = waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR);
    // A host that ignores SIGCHLD has no status for us; the greeting decides.
    if (ended < 0) return 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  bool greeted(std::string& error) const {
    char text[200];
    if (!wait_for(control_.get(), POLLIN, {Clock::now() + kStartTime, {}})) {
      error = std::string(kWorkerProgram) + " does not begin to serve";
      return false;
    }
    const ssize_t got = recv(control_.get(), text, sizeof text, 0);
    if (got > 0 && std::string_view(text, size_t(got)) == kWorkerGreeting) return true;
    error = std::string(kWorkerProgram) +
            (got > 0 ? " is of another version of Lockstep: install both from one build" : " ended at once");
    return false;
  }

  Descriptor control_;
};

std::mutex connection_mutex;
std::shared_ptr<Connection> current_connection;

// The running worker, or a new one in place of `gone`.
std::shared_ptr<Connection> connect(const std::shared_ptr<Connection>& gone, std::string& error) {
  const std::lock_guard lock(connection_mutex);
  if (!current_connection || current_connection == gone) current_connection = Connection::start(error);
  return current_connection;
}

bool send_all(int fd, std::string_view bytes, const Patience& patience) {
  while (!bytes.empty()) {
    if (!wait_for(fd, POLLOUT, patience)) return false;
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent < 0) return true;  // the worker ended: its status says why
    bytes.remove_prefix(size_t(sent));
  }
  shutdown(fd, SHUT_WR);
  return true;
}

bool receive_all(int fd, std::string& bytes, const Patience& patience) {
  std::unique_ptr<char[]> block(new char[65536]);
  for (;;) {
    if (!wait_for(fd, POLLIN, patience)) return false;
    const ssize_t got = read(fd, block.get(), 65536);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || bytes.size() > kMostAnswer) return true;
    bytes.append(block.get(), size_t(got));
  }
}

// Nothing if the worker itself went away, which is nobody's fault and worth another try.
std::optional<WorkerAnswer> ask(const Connection& connection, std::string_view request, unsigned seconds,
                                const std::function<bool()>& cancelled) {
  WorkerAnswer answer;
  Descriptor data, their_data, status, their_status;
  if (!make_socket_pair(SOCK_STREAM, data, their_data) || !make_pipe(status, their_status)) {
    answer.error = std::string("cannot make a socket: ") + std::strerror(errno);
    return answer;
  }
  if (!connection.hand_over(their_data.get(), their_status.get())) return std::nullopt;
  their_data.reset();
  their_status.reset();
  const Patience patience{Clock::now() + std::chrono::seconds(seconds), cancelled};
  std::string code;
  if (!send_all(data.get(), request, patience) || !receive_all(data.get(), answer.bytes, patience) ||
      !receive_all(status.get(), code, patience)) {
    answer.error = Clock::now() < patience.end ? "it was cancelled"
                                               : "it gave no answer within " + std::to_string(seconds) + " s";
    return answer;
  }
  int ended = 0;
  if (code.size() != sizeof ended) return std::nullopt;
  std::memcpy(&ended, code.data(), sizeof ended);
  if (WIFSIGNALED(ended))
    answer.error = std::string("it was ended by a signal (") + strsignal(WTERMSIG(ended)) + ")";
  else if (WEXITSTATUS(ended) != 0)
    answer.error = "it ended with code " + std::to_string(WEXITSTATUS(ended));
  return answer;
}

}  // namespace

fs::path find_installed(const char* file, std::string& error) {
  Dl_info image;
  struct stat library;
  std::error_code failed;
  if (dladdr(reinterpret_cast<const void*>(&find_installed), &image) && image.dli_fname) {
    // The program itself may be known by no more than the name it was called by.
    fs::path place = fs::canonical(image.dli_fname, failed);
    if (failed) place = fs::canonical("/proc/self/exe", failed);
    if (!failed && stat(place.c_str(), &library) == 0) {
      fs::path folder = place.parent_path();
      for (int level = 0; level <= kMostLevels; ++level, folder = folder.parent_path()) {
        fs::path candidate = folder / "libexec/lockstep" / file;
        if (may_be_run(candidate, library)) return candidate;
      }
    }
  }
  error = std::string(file) +
          " is missing: it belongs into libexec/lockstep of the folder where Lockstep is installed";
  return {};
}

fs::path find_worker(std::string& error) {
  const char* chosen = std::getenv("LOCKSTEP_WORKER");
  if (chosen && *chosen) return chosen;
  const fs::path found = find_installed(kWorkerProgram, error);
  if (found.empty()) error += " (or name it in LOCKSTEP_WORKER)";
  return found;
}

WorkerAnswer ask_worker(std::string_view request, unsigned seconds, const std::function<bool()>& cancelled) {
  std::shared_ptr<Connection> connection;
  WorkerAnswer failure;
  for (int attempt = 0; attempt < 2; ++attempt) {
    connection = connect(connection, failure.error);
    if (!connection) return failure;
    if (std::optional<WorkerAnswer> answer = ask(*connection, request, seconds, cancelled))
      return *std::move(answer);
  }
  failure.error = std::string(kWorkerProgram) + " ended in the middle of the request";
  return failure;
}

}  // namespace lockstep::toolchain
