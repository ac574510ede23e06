#include "engine/translator/background.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace lockstep::translator {
namespace {

// Ignored where nobody has a handler for it.
constexpr int kHalt = SIGURG;

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
    for (Worker& worker : workers_) worker.thread.detach();
    workers_.clear();
    return;
  }
  std::unique_lock lock(mutex_);
  is_ending_ = true;
  jobs_.clear();
  changed_.notify_all();
  const auto works = [](const Worker& worker) { return worker.state == Worker::State::works; };
  changed_.wait_for(lock, patience_, [&] { return std::ranges::none_of(workers_, works); });
  for (Worker& worker : workers_)
    if (works(worker)) halt(worker);
  lock.unlock();
  for (Worker& worker : workers_)
    if (worker.thread.joinable()) worker.thread.join();
}

// LLVM's tables go while the process ends, so that it must not just run on.
void Background::halt(Worker& worker) {
  std::fprintf(stderr,
               "lockstep: a translation has not ended for %lld s and is given up; --engine interpreter does "
               "without any\n",
               static_cast<long long>(patience_.count()));
  struct sigaction action{};
  action.sa_handler = [](int) {
    for (;;) pause();
  };
  if (sigaction(kHalt, &action, nullptr) == 0) pthread_kill(worker.thread.native_handle(), kHalt);
  worker.state = Worker::State::halted;
  worker.thread.detach();
}

void Background::start(Job job) {
  if (process_ != 0 && process_ != getpid()) return;
  std::lock_guard lock(mutex_);
  if (is_ending_) return;
  jobs_.push_back(std::move(job));
  const unsigned most = std::max(1u, std::thread::hardware_concurrency() / 2);
  if (idle_ < jobs_.size() && workers_.size() < most) {
    process_ = getpid();
    Worker& worker = workers_.emplace_back();
    worker.thread = std::thread([this, &worker] { work(worker); });
  }
  changed_.notify_one();
}

void Background::work(Worker& worker) {
  constexpr int kNice = 3;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
  sigset_t halt;
  sigemptyset(&halt);
  sigaddset(&halt, kHalt);
  pthread_sigmask(SIG_UNBLOCK, &halt, nullptr);
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [this] { return is_ending_ || !jobs_.empty(); });
    --idle_;
    if (is_ending_) break;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job([this] {
      std::lock_guard guard(mutex_);
      return is_ending_;
    });
    lock.lock();
  }
  worker.state = Worker::State::ended;
  changed_.notify_all();
}

}  // namespace lockstep::translator
