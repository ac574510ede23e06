// lockstep-toolchain-worker: does what takes LLVM to do on behalf of the library (toolchain/worker_client.h).
//   serve                                       answers requests from the socket that is its standard input
//   prepare-device-libraries SOURCE DIRECTORY   makes device libraries for gfx11
//   retarget-bitcode FROM TO PRINTING VERSION   makes bitcode for amdgcn of bitcode for spir64
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "toolchain/confinement.h"
#include "toolchain/descriptor.h"
#include "toolchain/files.h"
#include "toolchain/message.h"
#include "toolchain/worker_assembler.h"
#include "toolchain/worker_bitcode.h"
#include "toolchain/worker_frames.h"
#include "toolchain/worker_protocol.h"
#include "toolchain/worker_retarget.h"

namespace {

using namespace lockstep::toolchain;

constexpr int kControl = STDIN_FILENO;
// What the assembler's recursion may take: beyond it is a crash, and a message.
constexpr rlim_t kStackBytes = rlim_t{64} << 20;

bool read_all(int fd, std::string& bytes) {
  std::vector<char> block(1 << 16);
  for (;;) {
    const ssize_t got = read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    bytes.append(block.data(), size_t(got));
  }
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(size_t(written));
  }
  return true;
}

// Files are read below the folders of the request only. Where the kernel cannot see to that nothing is opened
// at all.
void confine(const AssemblyRequest& request, std::string& note) {
  FileAccess access;
  if (!request.folder.empty()) access.readable.push_back(request.folder);
  for (const auto& directory : request.options.include_directories) access.readable.push_back(directory);
  std::string error;
  if (confine_files(access, error)) return;
  const rlimit none{0, 64};
  setrlimit(RLIMIT_NOFILE, &none);
  note = request.name + ": note: .include and .incbin read nothing: " + error + "\n";
}

void bound_stack_and_processes() {
  const rlimit stack{kStackBytes, RLIM_INFINITY}, no_processes{0, 0};
  setrlimit(RLIMIT_STACK, &stack);
  setrlimit(RLIMIT_NPROC, &no_processes);
}

int answer_frames(std::string bytes, int data) {
  const std::optional<FramesRequest> request = decode_frames_request(bytes);
  if (!request) return 2;
  std::string().swap(bytes);
  bound_stack_and_processes();
  std::string error;
  if (chdir("/") != 0) return 3;
  // Debug information may name other files, and LLVM would look for them.
  if (!confine_files({}, error)) {
    const rlimit none{0, 64};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  if (!apply_limits(0, kFrameLimits, error)) return 4;
  return write_all(data, encode(frames_here(*request))) ? 0 : 5;
}

int answer_assembly(std::string bytes, int data) {
  std::string error, note;
  const std::optional<AssemblyRequest> request = decode_request(bytes);
  if (!request) return 2;
  std::string().swap(bytes);
  report_end_of_process(*request, data);
  bound_stack_and_processes();
  if (chdir(request->folder.empty() ? "/" : request->folder.c_str()) != 0 && chdir("/") != 0) return 3;
  confine(*request, note);
  if (!apply_limits(0, request->options.limits, error)) return 4;

  const Result result = assemble_here(*request);
  MessageWriter answer;
  answer.number(uint64_t(Record::diagnostics));
  answer.text(result ? result.diagnostics : result.diagnostics + note);
  answer.number(uint64_t(Record::code_object));
  answer.text(text_of(result.code_object));
  return write_all(data, answer.bytes()) ? 0 : 5;
}

// In the fork for one request.
int answer_request(int data) {
  std::string bytes;
  if (!read_all(data, bytes)) return 1;
  switch (kind_of_request(bytes).value_or(RequestKind())) {
    case RequestKind::assembly:
      return answer_assembly(std::move(bytes), data);
    case RequestKind::frames:
      return answer_frames(std::move(bytes), data);
  }
  return 2;
}

// A request being answered: its fork, and the pipe that takes the fork's exit status.
struct Task {
  pid_t process;
  int status;
};

// Two descriptors from the control socket; no: the host has ended.
bool receive_request(Descriptor& data, Descriptor& status) {
  char byte;
  iovec vector{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got;
  do got = recvmsg(kControl, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  if (got <= 0) return false;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(2 * sizeof(int)))
    return true;
  int descriptors[2];
  std::memcpy(descriptors, CMSG_DATA(header), sizeof descriptors);
  data.reset(descriptors[0]);
  status.reset(descriptors[1]);
  return true;
}

class Server {
 public:
  int run() {
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ended, nullptr);
    const Descriptor children(signalfd(-1, &ended, SFD_CLOEXEC));
    if (!write_all(kControl, kWorkerGreeting)) return 1;
    for (;;) {
      std::vector<pollfd> polled = {{kControl, POLLIN, 0}, {children.get(), POLLIN, 0}};
      for (const Task& task : tasks_) polled.push_back({task.status, 0, 0});
      if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return 1;
      // Nobody reads the status any more: the host has given up.
      for (size_t i = 0; i < tasks_.size(); ++i)
        if (polled[2 + i].revents) kill(tasks_[i].process, SIGKILL);
      if (polled[1].revents) reap(children.get());
      if (polled[0].revents && !begin()) break;
    }
    for (const Task& task : tasks_) kill(task.process, SIGKILL);
    return 0;
  }

 private:
  bool begin() {
    Descriptor data, status;
    if (!receive_request(data, status)) return false;
    if (data.get() < 0) return true;
    const pid_t process = fork();
    if (process == 0) {
      sigset_t none;
      sigemptyset(&none);
      sigprocmask(SIG_SETMASK, &none, nullptr);
      close(kControl);
      for (const Task& task : tasks_) close(task.status);
      status.reset();
      _exit(answer_request(data.get()));
    }
    if (process > 0) tasks_.push_back({process, dup(status.get())});
    return true;
  }

  void reap(int children) {
    signalfd_siginfo ignored;
    if (read(children, &ignored, sizeof ignored) < 0) return;
    int status;
    for (pid_t process; (process = waitpid(-1, &status, WNOHANG)) > 0;) {
      for (size_t i = 0; i < tasks_.size(); ++i) {
        if (tasks_[i].process != process) continue;
        write_all(tasks_[i].status, {reinterpret_cast<const char*>(&status), sizeof status});
        close(tasks_[i].status);
        tasks_.erase(tasks_.begin() + long(i));
        break;
      }
    }
  }

  std::vector<Task> tasks_;
};

int serve() {
  // The host's child ends at once, so that the host, which may wait for its children, has none.
  const pid_t process = fork();
  if (process != 0) return process < 0;
  signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_DUMPABLE, 0);
  initialize_assembler();
  return Server().run();
}

int end_job(bool is_done, const std::string& error) {
  if (!is_done) std::fprintf(stderr, "%s\n", error.c_str());
  return is_done ? 0 : 1;
}

int prepare(const char* source, const char* directory) {
  std::string error;
  return end_job(make_device_libraries(source, directory, error), error);
}

int retarget(const char* from, const char* to, const char* printing, const char* version) {
  std::string error;
  const auto number = unsigned(std::strtoul(version, nullptr, 10));
  return end_job(retarget_bitcode(from, to, printing, number, error), error);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view job = argc > 1 ? argv[1] : "";
  if (job == kServeJob && argc == 2) {
    int type = 0;
    socklen_t size = sizeof type;
    if (getsockopt(kControl, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET)
      return serve();
  } else if (job == kDeviceLibrariesJob && argc == 4) {
    return prepare(argv[2], argv[3]);
  } else if (job == kRetargetJob && argc == 6) {
    return retarget(argv[2], argv[3], argv[4], argv[5]);
  }
  std::fputs("lockstep-toolchain-worker is started by the Lockstep library and of no use by itself\n",
             stderr);
  return 2;
}
