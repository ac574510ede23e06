// Processes the packets of any number of queues, by priority: on a thread of its own, asleep while there is
// nothing to do, or on that of somebody who has seen a doorbell.
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
  // After this the thread does not touch the queue. If it is active it has had a turn since it was added, or
  // those of higher priority were busy: else who takes a queue away and gives it back without pause would
  // find it each time before the thread does.
  void remove(const Queue& queue);
  // A doorbell: there may be something to do. Cheap if the thread is awake.
  void wake();
  // Somebody has written memory: perhaps to the doorbell of a queue. Costs a load if the thread is awake.
  void look();
  // The same on the calling thread, for a moment, which saves the way to another one; only one such thread at
  // a time. True if there is more to do: to be called again, soon.
  bool drive();
  // For who was told so and will not call it again: another look, and what that finds is the own thread's.
  void hand_over();
  // On the calling thread, for the queue that was the last one to go on: Queue::rehearse().
  bool rehearse();

 private:
  void run();
  void wake_thread();
  // rehearse(), with `driving_` held.
  bool rehearse_last();
  // Lets every queue that can go on do so; says what is left. With `driving_` held.
  Queue::Advance round();
  // Around Queue::advance(); false: the queue is gone.
  bool begin_turn(const Queue& queue);
  void end_turn(const Queue& queue, bool progressed);
  bool any_rung();
  // Tells look() that nobody processes packets; false if a doorbell was rung before that could be seen.
  // With `driving_` held.
  bool fall_asleep();

  Waiters& waiters_;
  std::mutex driving_;  // of the thread that processes packets; before `mutex_`
  std::mutex mutex_;
  std::condition_variable changed_;
  // By priority, highest first; among equals those that have gone on are behind the others.
  std::vector<std::shared_ptr<Queue>> queues_;
  std::vector<std::shared_ptr<Queue>> turns_;  // those that round() goes through; of whoever is `driving_`
  const Queue* current_ = nullptr;
  const Queue* progressed_ = nullptr;      // the last one that did; it may be gone
  std::vector<const Queue*> had_no_turn_;  // of queues_, since they were added
  std::condition_variable released_;       // current_ or had_no_turn_ has changed
  bool stop_ = false;
  std::atomic<bool> pending_ = false, asleep_ = false;  // asleep: nobody processes packets
  std::thread thread_;
};

}  // namespace lockstep::command
