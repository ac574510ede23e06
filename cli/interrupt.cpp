#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

namespace lockstep::cli {

namespace {

volatile std::sig_atomic_t caught = 0;
volatile std::sig_atomic_t ends_at_once = 0;

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

// Of the functions that a handler may call.
[[noreturn]] void end_at_once(int signal) {
  constexpr std::string_view kWord = "interrupted\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kWord.data(), kWord.size());
  _exit(128 + signal);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action{};
  action.sa_handler = [](int signal) {
    if (ends_at_once) end_at_once(signal);
    caught = signal;
  };
  sigemptyset(&action.sa_mask);
  // The default action comes back for the second one. No SA_RESTART: whoever waits for input looks up.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : kSignals) {
    struct sigaction old{};
    if (sigaction(signal, nullptr, &old) == 0 && old.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);
  }
}

void give_back_interrupts() {
  for (const int signal : kSignals) {
    struct sigaction now{};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) std::signal(signal, SIG_DFL);
  }
  if (interrupted()) std::raise(caught);
}

InterruptsEndAtOnce::InterruptsEndAtOnce() {
  ends_at_once = 1;
  throw_if_interrupted();
}

InterruptsEndAtOnce::~InterruptsEndAtOnce() {
  ends_at_once = 0;
}

bool interrupted() {
  return caught != 0;
}

int interrupt_exit_code() {
  return 128 + caught;
}

}  // namespace lockstep::cli
