// Ctrl-C, SIGTERM and SIGHUP. The first one asks the program to end in order: nothing half written and no
// temporary file stays. The second one ends it at once.
#pragma once

#include <exception>

namespace lockstep::cli {

// A signal that the program was started to ignore (nohup) stays ignored.
void catch_interrupts();
// Before another program takes this one's place: the first signal ends it, as it would end that one. One that
// came before does so now.
void give_back_interrupts();
bool interrupted();
// What a program that the signal ended would have: 130 for Ctrl-C.
int interrupt_exit_code();

struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};
inline void throw_if_interrupted() {
  if (interrupted()) throw Interrupted();
}

// While one of these lives, the first signal ends the program at once: for calls of the library that cannot
// be asked to stop, and leave nothing behind.
class InterruptsEndAtOnce {
 public:
  InterruptsEndAtOnce();
  ~InterruptsEndAtOnce();
  InterruptsEndAtOnce(const InterruptsEndAtOnce&) = delete;
  InterruptsEndAtOnce& operator=(const InterruptsEndAtOnce&) = delete;
};

// As the library's options want it: not 0 asks it to stop.
inline int stop_if_interrupted(void*) {
  return interrupted();
}

}  // namespace lockstep::cli
