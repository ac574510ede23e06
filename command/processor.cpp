#include "command/processor.h"

#include <pthread.h>

#include <algorithm>

namespace lockstep::command {

Processor::Processor(Waiters& waiters) : waiters_(waiters), thread_([this] { run(); }) {}

Processor::~Processor() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    pending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Processor::add(std::shared_ptr<Queue> queue) {
  {
    std::lock_guard lock(mutex_);
    auto behind = std::find_if(queues_.begin(), queues_.end(),
                               [&](const auto& other) { return other->priority() < queue->priority(); });
    had_no_turn_.push_back(queue.get());
    queues_.insert(behind, std::move(queue));
  }
  wake();
}

void Processor::remove(const Queue& queue) {
  std::unique_lock lock(mutex_);
  const auto had_its_turn = [&] { return std::ranges::find(had_no_turn_, &queue) == had_no_turn_.end(); };
  released_.wait(lock, [&] { return had_its_turn() || queue.state() != QueueState::active; });
  std::erase(had_no_turn_, &queue);
  std::erase_if(queues_, [&](const auto& other) { return other.get() == &queue; });
  released_.wait(lock, [&] { return current_ != &queue; });
}

void Processor::wake() {
  pending_.store(true, std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst)) wake_thread();
}

void Processor::wake_thread() {
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

bool Processor::any_rung() {
  std::lock_guard lock(mutex_);
  return std::any_of(queues_.begin(), queues_.end(), [](const auto& queue) { return queue->rung(); });
}

void Processor::look() {
  // Whoever processes packets looks at all doorbells once more when he has said that he sleeps.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst) && any_rung()) wake();
}

bool Processor::fall_asleep() {
  asleep_.store(true, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return !any_rung();
}

Queue::Advance Processor::round() {
  Queue::Advance all;
  {
    std::lock_guard lock(mutex_);
    turns_ = queues_;
  }
  for (const auto& queue : turns_) {
    if (!begin_turn(*queue)) continue;
    const Queue::Advance one = queue->advance();
    end_turn(*queue, one.progressed);
    all.waits_for_memory |= one.waits_for_memory;
    if (one.look_again && (!all.look_again || *one.look_again < *all.look_again))
      all.look_again = one.look_again;
    // A queue of lower priority comes when those above it have nothing left.
    if (one.progressed) {
      all.progressed = true;
      break;
    }
  }
  turns_.clear();
  return all;
}

bool Processor::begin_turn(const Queue& queue) {
  std::lock_guard lock(mutex_);
  if (std::ranges::find(queues_, &queue, [](const auto& each) { return each.get(); }) == queues_.end())
    return false;
  current_ = &queue;
  std::erase(had_no_turn_, current_);
  return true;
}

void Processor::end_turn(const Queue& queue, bool progressed) {
  std::lock_guard lock(mutex_);
  current_ = nullptr;
  if (progressed) {
    progressed_ = &queue;
    const auto found = std::ranges::find(queues_, &queue, [](const auto& each) { return each.get(); });
    const auto behind = std::find_if(found, queues_.end(),
                                     [&](const auto& other) { return other->priority() < queue.priority(); });
    if (found != behind) std::rotate(found, found + 1, behind);
    std::erase_if(had_no_turn_, [&](const Queue* other) { return other->priority() < queue.priority(); });
  }
  released_.notify_all();
}

bool Processor::drive() {
  std::unique_lock driving(driving_, std::try_to_lock);
  if (!driving) {
    wake();  // whoever is at it looks again before it rests
    // Or has gone since, perhaps before that could be seen.
    if (!driving.try_lock()) return false;
  }
  asleep_.store(false, std::memory_order_seq_cst);
  pending_.store(false, std::memory_order_seq_cst);
  const Queue::Advance left = round();
  if (left.progressed) return true;
  if (!fall_asleep() || pending_.load(std::memory_order_seq_cst)) return true;
  // Waiting is the own thread's.
  if (left.waits_for_memory || left.look_again) wake();
  return false;
}

void Processor::hand_over() {
  if (!drive()) return;
  // Not wake(): until somebody has said that he sleeps it would leave this to whoever drove last.
  pending_.store(true, std::memory_order_seq_cst);
  wake_thread();
}

bool Processor::rehearse() {
  bool result = false;
  {
    const std::unique_lock driving(driving_, std::try_to_lock);
    if (!driving) return false;
    result = rehearse_last();
  }
  // Who came meanwhile took this for somebody who processes packets.
  if (pending_.load(std::memory_order_seq_cst)) wake_thread();
  return result;
}

bool Processor::rehearse_last() {
  std::shared_ptr<Queue> queue;
  {
    std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(queues_, progressed_, [](const auto& each) { return each.get(); });
    if (found == queues_.end()) return false;
    queue = *found;
    current_ = progressed_;
  }
  const bool result = queue->rehearse();
  std::lock_guard lock(mutex_);
  current_ = nullptr;
  released_.notify_all();
  return result;
}

void Processor::run() {
  pthread_setname_np(pthread_self(), "lockstep queues");
  bool watching = false;
  Waiters::WatcherId watcher;
  for (;;) {
    Queue::Advance left;
    {
      std::lock_guard driving(driving_);
      asleep_.store(false, std::memory_order_seq_cst);
      pending_.store(false, std::memory_order_seq_cst);
      {
        std::lock_guard lock(mutex_);
        if (stop_) break;
      }
      left = round();
      const bool looks_again = left.progressed || (left.waits_for_memory && !watching);
      if (!looks_again && !fall_asleep()) continue;
    }
    if (left.progressed) continue;
    if (left.waits_for_memory != watching) {
      watching = left.waits_for_memory;
      if (!watching) {
        waiters_.unwatch(watcher);
      } else {
        watcher = waiters_.watch([this] { wake(); });
        continue;  // what was written before the watch is seen by another look
      }
    }
    std::unique_lock lock(mutex_);
    const auto something = [&] { return pending_.load(std::memory_order_seq_cst); };
    if (left.look_again) {
      changed_.wait_until(lock, *left.look_again, something);
    } else {
      changed_.wait(lock, something);
    }
  }
  if (watching) waiters_.unwatch(watcher);
}

}  // namespace lockstep::command
