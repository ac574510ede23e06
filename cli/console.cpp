#include "cli/console.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>

namespace lockstep::cli {

namespace {

// Instead of which a write fails; and what they were at the start.
constexpr int kOfWrites[] = {SIGPIPE, SIGXFSZ};
decltype(SIG_IGN) at_start[std::size(kOfWrites)] = {};

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
  for (size_t i = 0; i < std::size(kOfWrites); ++i) at_start[i] = std::signal(kOfWrites[i], SIG_IGN);
}

void give_back_signals_of_writes() {
  for (size_t i = 0; i < std::size(kOfWrites); ++i) std::signal(kOfWrites[i], at_start[i]);
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
