#include "command/waiters.h"

namespace lockstep::command {

bool Waiters::wait(const std::function<bool()>& holds, std::optional<Clock::time_point> deadline) {
  if (holds()) return true;
  Waiter waiter{&holds, {}, false};
  std::unique_lock lock(mutex_);
  const auto place = waiters_.insert(waiters_.end(), &waiter);
  // Whoever writes after this sees that somebody waits; whoever wrote before is seen here.
  present_.fetch_add(1, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  bool good = holds();
  if (!good) {
    if (deadline) {
      good = waiter.woken.wait_until(lock, *deadline, [&] { return waiter.ready; });
    } else {
      waiter.woken.wait(lock, [&] { return waiter.ready; });
      good = true;
    }
  }
  waiters_.erase(place);
  present_.fetch_sub(1, std::memory_order_relaxed);
  return good;
}

void Waiters::notify() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (present_.load(std::memory_order_relaxed) == 0) return;
  std::lock_guard lock(mutex_);
  for (Waiter* waiter : waiters_) {
    if (waiter->ready || !(*waiter->holds)()) continue;
    waiter->ready = true;
    waiter->woken.notify_one();
  }
  for (const Watcher& watcher : watchers_) watcher();
}

Waiters::WatcherId Waiters::watch(Watcher watcher) {
  std::lock_guard lock(mutex_);
  present_.fetch_add(1, std::memory_order_seq_cst);
  return watchers_.insert(watchers_.end(), std::move(watcher));
}

void Waiters::unwatch(WatcherId id) {
  std::lock_guard lock(mutex_);
  watchers_.erase(id);
  present_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace lockstep::command
