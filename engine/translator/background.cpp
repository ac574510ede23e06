#include "engine/translator/background.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace lockstep::translator {
namespace {

// exit() destroys what is local to its thread before anything that is static. LLVM makes static tables when
// it first generates code, later than of_process() registers the end, so that they would be gone before: what
// runs then never came to its end, or crashed.
struct EndOfMainThread {
  bool is_main = false;
  ~EndOfMainThread() {
    if (is_main) Background::of_process().end();
  }
};
thread_local EndOfMainThread end_of_main_thread;

[[gnu::constructor]] void watch_main_thread() {
  end_of_main_thread.is_main = gettid() == getpid();
}

}  // namespace

Background& Background::of_process() {
  static Background& instance = [&]() -> Background& {
    static Background& made = *new Background;
    // For other threads that call exit().
    std::atexit([] { made.end(); });
    return made;
  }();
  return instance;
}

Background::~Background() {
  end();
}

void Background::end() {
  // A child has none of the threads, and the lock as it was when it was forked.
  if (process_ != 0 && process_ != getpid()) {
    for (std::thread& thread : threads_) thread.detach();
    threads_.clear();
    return;
  }
  {
    std::lock_guard lock(mutex_);
    is_ending_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Background::start(Job job) {
  if (process_ != 0 && process_ != getpid()) return;
  std::lock_guard lock(mutex_);
  if (is_ending_) return;
  jobs_.push_back(std::move(job));
  const unsigned most = std::max(1u, std::thread::hardware_concurrency() / 2);
  if (idle_ < jobs_.size() && threads_.size() < most) {
    process_ = getpid();
    threads_.emplace_back([this] { work(); });
  }
  changed_.notify_one();
}

void Background::work() {
  constexpr int kNice = 3;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [this] { return is_ending_ || !jobs_.empty(); });
    --idle_;
    if (is_ending_) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job([this] {
      std::lock_guard guard(mutex_);
      return is_ending_;
    });
    lock.lock();
  }
}

}  // namespace lockstep::translator
