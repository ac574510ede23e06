// Threads that wait for memory to get a value. Whoever writes says so, and wakes those for whom it matters:
// nobody polls.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>

namespace lockstep::command {

class Waiters {
 public:
  using Clock = std::chrono::steady_clock;

  // Blocks until `holds()` or the deadline; says whether it holds. `holds` is called by this thread and, with
  // a lock held, by those that notify. It must be quick, and true only of what a notification follows.
  bool wait(const std::function<bool()>& holds, std::optional<Clock::time_point> deadline);

  // To be called after memory was written. Costs a load if nobody waits.
  void notify();

  // A watcher is called on every notification, from the thread that notifies.
  using Watcher = std::function<void()>;
  using WatcherId = std::list<Watcher>::iterator;
  WatcherId watch(Watcher watcher);
  void unwatch(WatcherId id);

 private:
  struct Waiter {
    const std::function<bool()>* holds;
    std::condition_variable woken;
    bool ready = false;
  };

  std::atomic<int> present_ = 0;  // waiters and watchers
  std::mutex mutex_;
  std::list<Waiter*> waiters_;
  std::list<Watcher> watchers_;
};

}  // namespace lockstep::command
