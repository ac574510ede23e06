// Threads that translate while waves run in the interpreter: one for the process where it has few processors,
// else half as many as these. They are nice to the threads that run waves.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/translator/translation.h"

namespace lockstep::translator {

class Background {
 public:
  // It ends, and waits for what runs, when the process does; threads that still run waves then may call it.
  static Background& of_process();

  Background() = default;
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // The job asks what it is given whether the process ends; it must not throw. In a child that was forked
  // nobody does it.
  using Job = std::function<void(const IsCancelled&)>;
  void start(Job job);
  // Waits for the jobs that run; others are not done.
  void end();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::vector<std::thread> threads_;
  unsigned idle_ = 0;
  bool is_ending_ = false;
  int process_ = 0;  // whose threads these are
};

}  // namespace lockstep::translator
