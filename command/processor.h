// A thread that processes the packets of any number of queues, by priority; asleep while there is nothing to
// do.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "command/queue.h"
#include "command/waiters.h"

namespace lockstep::command {

class Processor {
 public:
  explicit Processor(Waiters& waiters);
  ~Processor();
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;

  void add(std::shared_ptr<Queue> queue);
  // After this the thread does not touch the queue.
  void remove(const Queue& queue);
  // A doorbell: there may be something to do. Cheap if the thread is awake.
  void wake();
  // Waves have written memory: perhaps to the doorbell of a queue. Cheap if the thread is awake.
  void look();

 private:
  void run();
  // Lets every queue that can go on do so; says what is left.
  Queue::Advance round();

  Waiters& waiters_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Queue>> queues_;  // by priority, highest first
  size_t turn_ = 0;
  const Queue* current_ = nullptr;
  bool stop_ = false;
  std::atomic<bool> pending_ = false, asleep_ = false;
  std::thread thread_;
};

}  // namespace lockstep::command
