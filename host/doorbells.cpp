#include "host/doorbells.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "command/guest_memory.h"
#include "host/own_descriptors.h"

namespace lockstep::host {

namespace {

using std::chrono::steady_clock;

// After the last ring the pages are looked at all the time: programs that launch one kernel behind the other
// ring again soon.
constexpr steady_clock::duration kBusy = std::chrono::microseconds(200);
// Programs that ring every few milliseconds are likely to do so again: the pages are looked at until then if
// nobody else wants the processor, which shows in how long it is away when it is offered. An interrupt takes
// less, another thread's slice more.
constexpr steady_clock::duration kLongestBusy = std::chrono::milliseconds(30);
constexpr auto kLongestAway = std::chrono::microseconds(700);
// Then the thread sleeps instead, for so long before it tries again.
constexpr auto kCrowded = std::chrono::milliseconds(250);
// How often the way of a packet is gone meanwhile, awake and in sleep: in less than 20 ms its code and data
// are lost from all caches where others have the machine, too: each of some 1,000 lines costs 20 to 100 ns.
constexpr auto kRehearsals = std::chrono::microseconds(500),
               kRehearsalsInSleep = std::chrono::microseconds(1000);
// Threads that ring process packets themselves for so long, and for so many rings less than so long apart.
constexpr auto kMoment = std::chrono::microseconds(50), kBurst = std::chrono::microseconds(1000);
constexpr unsigned kMostOfBurst = 8;
// Where pages cannot be protected.
constexpr auto kShortestPause = std::chrono::microseconds(10), kLongestPause = std::chrono::microseconds(500);

// A woken thread should run at once although a program spins on the same processor: from Linux 6.12 on a
// short slice asks for that, and nobody needs a right for it.
void ask_for_short_slices() {
  if (sched_getscheduler(0) != SCHED_OTHER) return;  // the user's choice
  errno = 0;
  const int nice = getpriority(PRIO_PROCESS, 0);  // of this thread, which keeps it
  if (errno != 0) return;
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes = {};
  attributes.size = sizeof attributes;
  attributes.nice = nice;
  attributes.runtime = 100'000;  // nanoseconds, the least
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace

Doorbells::Doorbells(Store& store, const std::vector<std::unique_ptr<Gpu>>& gpus)
    : store_(store), gpus_(gpus), pages_(gpus.size()), to_serve_(gpus.size()), registered_(gpus.size()) {
  for (const auto& gpu : gpus) {
    Pages& pages = pages_[gpu->index];
    pages.ours = static_cast<uint64_t*>(store_.map(
        nullptr, Store::kFirstDoorbells + gpu->index * Store::kDoorbellBytes, Store::kDoorbellBytes));
    if (!pages.ours) throw std::system_error(errno, std::generic_category(), "no memory for doorbells");
  }
  event_ = taken_over(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  open_userfault();
  thread_ = std::thread([this] { run(); });
}

Doorbells::~Doorbells() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake();
  thread_.join();
  close_own(userfault_);
  close_own(event_);
}

void Doorbells::wake() {
  changed_.notify_all();
  const uint64_t one = 1;
  (void)!write(event_, &one, sizeof one);
}

void Doorbells::open_userfault() {
  userfault_ =
      taken_over(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY)));
  if (userfault_ < 0) return;
  uffdio_api api = {};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
  if (ioctl(userfault_, UFFDIO_API, &api) == 0) return;
  close_own(userfault_);
  userfault_ = -1;
}

uint64_t* Doorbells::take(const Gpu& gpu) {
  std::lock_guard lock(mutex_);
  Pages& pages = pages_[gpu.index];
  uint32_t number = 0;
  while (std::find(pages.taken.begin(), pages.taken.end(), number) != pages.taken.end()) ++number;
  if (number == kOfDevice) return nullptr;
  pages.taken.push_back(number);
  ++in_use_;
  command::store_shared<uint64_t>(&pages.ours[number], command::AqlQueue::kNeverRung);
  pages.seen[number] = command::AqlQueue::kNeverRung;
  wake();
  return &pages.ours[number];
}

void Doorbells::give_back(const Gpu& gpu, uint64_t* doorbell) {
  std::lock_guard lock(mutex_);
  Pages& pages = pages_[gpu.index];
  std::erase(pages.taken, static_cast<uint32_t>(doorbell - pages.ours));
  --in_use_;
}

uint64_t Doorbells::offset(const Gpu& gpu, const uint64_t* doorbell) const {
  return Store::kFirstDoorbells + gpu.index * Store::kDoorbellBytes +
         static_cast<uint64_t>(doorbell - pages_[gpu.index].ours) * 8;
}

void Doorbells::mapped(uint64_t offset, void* address) {
  if (offset < Store::kFirstDoorbells) return;
  const uint64_t index = (offset - Store::kFirstDoorbells) / Store::kDoorbellBytes;
  if (index >= pages_.size()) return;
  std::lock_guard lock(mutex_);
  pages_[index].programs = address;
  pages_[index].is_new = true;
  wake();
}

bool Doorbells::look() {
  bool any = false;
  std::lock_guard lock(mutex_);
  for (const auto& gpu : gpus_) {
    Pages& pages = pages_[gpu->index];
    for (const uint32_t number : pages.taken) {
      const auto value = command::load_shared<uint64_t>(&pages.ours[number]);
      if (value == pages.seen[number]) continue;
      pages.seen[number] = value;
      to_serve_[gpu->index] = true;
    }
    any |= to_serve_[gpu->index];
  }
  return any;
}

// Without the lock: what is processed may fail, and tell of it.
void Doorbells::serve() {
  for (const auto& gpu : gpus_) {
    if (!to_serve_[gpu->index]) continue;
    to_serve_[gpu->index] = false;
    // Several devices do not wait for each other.
    if (gpus_.size() == 1)
      to_serve_[gpu->index] = gpu->processor->serve_doorbells();
    else
      gpu->processor->look_at_doorbells();
  }
}

bool Doorbells::serve_for_waiter() {
  // Several devices do not wait for each other.
  return gpus_.size() == 1 && gpus_.front()->processor->serve_doorbells();
}

void Doorbells::waiter_leaves() {
  gpus_.front()->processor->hand_over();
}

void Doorbells::about_to_ring() {
  if (!asleep_.load(std::memory_order_acquire)) return;
  {
    std::lock_guard lock(mutex_);  // pages may be registered
    protect(false);
  }
  // In any case: it may have woken up and protected the pages again in between.
  wake();
}

void Doorbells::note_ring(Clock::time_point time) {
  const auto rest = time - last_rung_.load();
  last_rung_ = time;
  if (rest > kBusy) expected_ = rest < kLongestBusy ? std::min(kLongestBusy, rest * 3 / 2) : kBusy;
}

bool Doorbells::ring(const void* address, uint64_t value) {
  if (gpus_.size() != 1 || !asleep_.load(std::memory_order_acquire)) return false;
  const auto begin = Clock::now();
  bool is_rhythm = false;
  {
    std::lock_guard lock(mutex_);
    Pages& pages = pages_.front();
    const auto offset = reinterpret_cast<uint64_t>(address) - reinterpret_cast<uint64_t>(registered_.front());
    if (!asleep_ || !registered_.front() || offset >= Store::kDoorbellBytes) return false;
    burst_ = begin - last_rung_.load() < kBurst ? burst_ + 1 : 0;
    if (burst_ >= kMostOfBurst) return false;
    note_ring(begin);
    is_rhythm = sleeps_deeply_ && expected_.load() > kBusy;
    command::store_shared<uint64_t>(&pages.ours[offset / 8], value);
    pages.seen[offset / 8] = value;
  }
  bool has_more = true;
  while (has_more && Clock::now() - begin < kMoment) has_more = serve_for_waiter();
  if (has_more || is_rhythm) wake();
  return true;
}

void Doorbells::protect(bool on) {
  for (void* page : registered_) {
    if (!page) continue;
    uffdio_writeprotect range = {};
    range.range = {reinterpret_cast<uint64_t>(page), Store::kDoorbellBytes};
    range.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0;
    ioctl(userfault_, UFFDIO_WRITEPROTECT, &range);
  }
}

bool Doorbells::wait_for_store() {
  if (userfault_ < 0) return false;
  {
    std::lock_guard lock(mutex_);
    for (size_t i = 0; i < pages_.size(); ++i) {
      Pages& pages = pages_[i];
      if (pages.taken.empty()) continue;
      if (!pages.programs) return false;
      if (!pages.is_new) continue;
      // A page that is not there cannot be protected. The program may have unmapped them: a read would end
      // it.
      if (madvise(pages.programs, Store::kDoorbellBytes, MADV_POPULATE_READ) != 0) return false;
      uffdio_register range = {};
      range.range = {reinterpret_cast<uint64_t>(pages.programs), Store::kDoorbellBytes};
      range.mode = UFFDIO_REGISTER_MODE_WP;
      if (ioctl(userfault_, UFFDIO_REGISTER, &range) != 0) return false;
      registered_[i] = pages.programs;
      pages.is_new = false;
    }
  }
  protect(true);
  if (!look()) {  // else somebody has stored before the protection
    asleep_.store(true, std::memory_order_release);
    sleep();
    asleep_.store(false, std::memory_order_relaxed);
  }
  protect(false);  // wakes who stores
  // Packets are published before the doorbell is rung: they need not wait until that thread has come to it.
  to_serve_.assign(to_serve_.size(), true);
  return true;
}

void Doorbells::sleep() {
  pollfd wait[] = {{userfault_, POLLIN, 0}, {event_, POLLIN, 0}};
  for (;;) {
    const auto now = Clock::now();
    bool deeply = false;
    {
      std::lock_guard lock(mutex_);
      deeply = sleeps_deeply_ = gpus_.size() != 1 || !expects_ring(now);
    }
    if (!deeply && now >= crowded_until_) return;
    const timespec until_rehearsal = {0, std::chrono::nanoseconds(kRehearsalsInSleep).count()};
    if (ppoll(wait, 2, deeply ? nullptr : &until_rehearsal, nullptr) != 0) break;
    gpus_.front()->processor->rehearse();
  }
  if (wait[1].revents) {
    uint64_t count = 0;
    (void)!read(event_, &count, sizeof count);
  }
}

void Doorbells::run() {
  pthread_setname_np(pthread_self(), "lockstep bells");
  ask_for_short_slices();
  auto rehearsed = Clock::now();
  auto pause = kShortestPause;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || in_use_ != 0; });
      if (stop_) return;
    }
    if (look()) {
      note_ring(Clock::now());
      serve();
      last_rung_ = Clock::now();
      pause = kShortestPause;
      continue;
    }
    const auto now = Clock::now();
    const auto rest = now - last_rung_.load();
    if (rest < kBusy || (expects_ring(now) && now >= crowded_until_)) {
      if (rest > kBusy && now - rehearsed > kRehearsals && gpus_.size() == 1) {
        gpus_.front()->processor->rehearse();
        rehearsed = Clock::now();
      }
      const auto offered = Clock::now();
      sched_yield();
      if (const auto back = Clock::now(); back - offered > kLongestAway) crowded_until_ = back + kCrowded;
      continue;
    }
    if (wait_for_store()) continue;
    std::this_thread::sleep_for(pause);
    pause = std::min(kLongestPause, pause * 2);
  }
}

}  // namespace lockstep::host
