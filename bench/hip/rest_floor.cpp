// What 20 ms of rest cost on this machine without Lockstep, beside bench/hip/launch.py's launches after as
// long a rest: a message to another thread and back, and loads of what was in the caches before. Compiled by
// hand, with -O2 -pthread.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kRest = std::chrono::milliseconds(20);
constexpr int kTimes = 100;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

void tell(const char* name, std::vector<double> times, const char* unit) {
  std::sort(times.begin(), times.end());
  const auto at = [&](double part) {
    return times[static_cast<size_t>(part * static_cast<double>(times.size() - 1))];
  };
  std::printf("%-36s best %.2f median %.2f p90 %.2f %s\n", name, at(0), at(0.5), at(0.9), unit);
}

// A number that one thread counts up and another waits for.
struct Mailbox {
  explicit Mailbox(bool spinning) : spins(spinning) {}

  void send() {
    number.fetch_add(1);
    if (!spins) syscall(SYS_futex, &number, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  void wait_beyond(uint32_t seen) {
    while (number.load() == seen)
      if (!spins) syscall(SYS_futex, &number, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
  }

  std::atomic<uint32_t> number{0};
  const bool spins;
};

void there_and_back(const char* name, bool spins, Clock::duration rest, int times) {
  Mailbox there(spins), back(spins);
  std::atomic<bool> stop = false;
  std::thread other([&] {
    for (uint32_t seen = 0;; ++seen) {
      there.wait_beyond(seen);
      if (stop) return;
      back.send();
    }
  });
  std::vector<double> taken;
  for (int i = 0; i < times; ++i) {
    std::this_thread::sleep_for(rest);
    const uint32_t seen = back.number;
    const auto begin = Clock::now();
    there.send();
    back.wait_beyond(seen);
    taken.push_back(microseconds_since(begin));
  }
  stop = true;
  there.send();
  other.join();
  tell(name, taken, "us");
}

struct alignas(64) Line {
  const Line* next;
};

// Each line names the next one, so that no load begins before the one before has ended.
double walk(const std::vector<Line>& lines) {
  const Line* volatile at = lines.data();
  const auto begin = Clock::now();
  for (size_t i = 0; i < lines.size(); ++i) at = at->next;
  return microseconds_since(begin) * 1000 / static_cast<double>(lines.size());
}

void cold_lines() {
  std::vector<Line> lines(1024);
  std::vector<size_t> order(lines.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  for (size_t i = 0; i < order.size(); ++i) lines[order[i]].next = &lines[order[(i + 1) % order.size()]];
  std::vector<double> slept, spun, at_once;
  for (int i = 0; i < kTimes; ++i) {
    walk(lines);
    at_once.push_back(walk(lines));
    std::this_thread::sleep_for(kRest);
    slept.push_back(walk(lines));
    for (const auto begin = Clock::now(); Clock::now() - begin < kRest;) {
    }
    spun.push_back(walk(lines));
  }
  tell("a line, at once", at_once, "ns");
  tell("a line, after 20 ms of sleep", slept, "ns");
  tell("a line, after 20 ms of spinning", spun, "ns");
}

}  // namespace

int main() {
  there_and_back("sleeping thread and back", false, Clock::duration::zero(), 50 * kTimes);
  there_and_back("sleeping thread and back, after rest", false, kRest, kTimes);
  there_and_back("spinning thread and back, after rest", true, kRest, kTimes);
  cold_lines();
  return 0;
}
