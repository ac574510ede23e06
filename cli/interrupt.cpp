#include "cli/interrupt.h"

#include <csignal>

namespace lockstep::cli {

namespace {

volatile std::sig_atomic_t caught = 0;

}  // namespace

void catch_interrupts() {
  struct sigaction action{};
  action.sa_handler = [](int signal) { caught = signal; };
  sigemptyset(&action.sa_mask);
  // The default action comes back for the second one. No SA_RESTART: whoever waits for input looks up.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  for (const int signal : kSignals) {
    struct sigaction old{};
    if (sigaction(signal, nullptr, &old) == 0 && old.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);
  }
}

bool interrupted() {
  return caught != 0;
}

int interrupt_exit_code() {
  return 128 + caught;
}

}  // namespace lockstep::cli
