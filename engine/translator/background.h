// Threads that translate while waves run in the interpreter: one for the process where it has few processors,
// else half as many as these. They are nice to the threads that run waves.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "engine/translator/translation.h"

namespace lockstep::translator {

class Background {
 public:
  // It ends, and waits for what runs, when the process does; threads that still run waves then may call it.
  static Background& of_process();

  // `patience`: how long end() waits for what runs.
  explicit Background(std::chrono::seconds patience = std::chrono::seconds(30)) : patience_(patience) {}
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // The job asks what it is given whether the process ends; it must not throw. In a child that was forked
  // nobody does it.
  using Job = std::function<void(const IsCancelled&)>;
  void start(Job job);
  // Waits for the jobs that run; others are not done. A job that has not ended when the patience has, since
  // LLVM may go round for ever, is halted where it is, and stays so.
  void end();

 private:
  struct Worker {
    std::thread thread;
    enum class State { works, ended, halted } state = State::works;
  };
  void work(Worker& worker);
  void halt(Worker& worker);

  const std::chrono::seconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::list<Worker> workers_;
  unsigned idle_ = 0;
  bool is_ending_ = false;
  int process_ = 0;  // whose threads these are
};

}  // namespace lockstep::translator
