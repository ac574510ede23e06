#include "command/interrupts.h"

namespace lockstep::command {

void Interrupts::set_callback(Callback callback) {
  std::lock_guard lock(mutex_);
  callback_ = std::move(callback);
}

void Interrupts::raise(const Interrupt& interrupt) {
  Callback callback;
  {
    std::lock_guard lock(mutex_);
    callback = callback_;
  }
  if (callback) callback(interrupt);
  {
    std::lock_guard lock(mutex_);
    if (pending_.size() == kCapacity) {
      pending_.pop_front();
      ++lost_;
    }
    pending_.push_back(interrupt);
  }
  waiters_.notify();
}

std::optional<Interrupt> Interrupts::wait(std::optional<Waiters::Clock::time_point> deadline) {
  for (;;) {
    const bool some = waiters_.wait(
        [&] {
          std::lock_guard lock(mutex_);
          return !pending_.empty();
        },
        deadline);
    if (!some) return std::nullopt;
    std::lock_guard lock(mutex_);
    if (pending_.empty()) continue;  // another thread was quicker
    const Interrupt first = pending_.front();
    pending_.pop_front();
    return first;
  }
}

uint64_t Interrupts::lost() const {
  std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace lockstep::command
