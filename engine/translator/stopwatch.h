// Times the stages of a translation, in processor time of this thread: what else the host does is not its
// cost.
#pragma once

#include <ctime>

namespace lockstep::translator {

class Stopwatch {
 public:
  // Seconds since the last lap.
  double lap() {
    const double now = read(), seconds = now - last_;
    last_ = now;
    return seconds;
  }

 private:
  static double read() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  double last_ = read();
};

}  // namespace lockstep::translator
