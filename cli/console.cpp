#include "cli/console.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace lockstep::cli {

namespace {

int output_error = 0;  // errno of the first failure

void note_failure() {
  if (output_error == 0) output_error = errno ? errno : EIO;
}

}  // namespace

void open_standard_streams() {
  // The wrong way round: using such a stream fails as using a closed one does.
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int fd = 0; fd < 3; ++fd)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)!open("/dev/null", kModes[fd]);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void print_text(std::string_view text) {
  if (output_is_lost()) return;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) note_failure();
}

void report_text(std::string_view text) {
  (void)!std::fwrite(text.data(), 1, text.size(), stderr);
}

bool output_is_lost() {
  return output_error != 0;
}

bool finish_output() {
  if (std::fflush(stdout) != 0) note_failure();
  if (output_error != 0 && output_error != EPIPE)
    report("error: cannot write to the standard output: {}\n", std::strerror(output_error));
  return output_error == 0;
}

}  // namespace lockstep::cli
