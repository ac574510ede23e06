#include "host/doorbells.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "command/guest_memory.h"

namespace lockstep::host {

namespace {

using Clock = std::chrono::steady_clock;

// After the last ring the pages are looked at all the time: programs that launch one kernel behind the other
// ring again soon.
constexpr auto kBusy = std::chrono::microseconds(200);
// Where pages cannot be protected.
constexpr auto kShortestPause = std::chrono::microseconds(10), kLongestPause = std::chrono::microseconds(500);

// A woken thread should run at once although a program spins on the same processor: from Linux 6.12 on a
// short slice asks for that, and nobody needs a right for it.
void ask_for_short_slices() {
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes = {};
  attributes.size = sizeof attributes;
  attributes.runtime = 100'000;  // nanoseconds, the least
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace

Doorbells::Doorbells(Store& store, const std::vector<std::unique_ptr<Gpu>>& gpus)
    : store_(store),
      gpus_(gpus),
      pages_(gpus.size()),
      seen_(gpus.size() * kOfDevice),
      registered_(gpus.size()) {
  for (const auto& gpu : gpus) {
    Pages& pages = pages_[gpu->index];
    pages.ours = static_cast<uint64_t*>(store_.map(
        nullptr, Store::kFirstDoorbells + gpu->index * Store::kDoorbellBytes, Store::kDoorbellBytes));
    if (!pages.ours) throw std::system_error(errno, std::generic_category(), "no memory for doorbells");
  }
  event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
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
  for (int descriptor : {userfault_, event_})
    if (descriptor >= 0) syscall(SYS_close, descriptor);
}

void Doorbells::wake() {
  changed_.notify_all();
  const uint64_t one = 1;
  (void)!write(event_, &one, sizeof one);
}

void Doorbells::open_userfault() {
  userfault_ = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
  if (userfault_ < 0) return;
  uffdio_api api = {};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
  if (ioctl(userfault_, UFFDIO_API, &api) == 0) return;
  syscall(SYS_close, userfault_);
  userfault_ = -1;
}

uint64_t* Doorbells::take(const Gpu& gpu) {
  std::lock_guard lock(mutex_);
  Pages& pages = pages_[gpu.index];
  const auto free = std::find(pages.taken.begin(), pages.taken.end(), false);
  if (free == pages.taken.end()) return nullptr;
  *free = true;
  ++in_use_;
  const auto number = static_cast<size_t>(free - pages.taken.begin());
  command::store_shared<uint64_t>(&pages.ours[number], command::AqlQueue::kNeverRung);
  seen_[gpu.index * kOfDevice + number] = command::AqlQueue::kNeverRung;
  wake();
  return &pages.ours[number];
}

void Doorbells::give_back(const Gpu& gpu, uint64_t* doorbell) {
  std::lock_guard lock(mutex_);
  Pages& pages = pages_[gpu.index];
  pages.taken[static_cast<size_t>(doorbell - pages.ours)] = false;
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
  wake();
}

bool Doorbells::look() {
  bool any = false;
  std::lock_guard lock(mutex_);
  for (const auto& gpu : gpus_) {
    const Pages& pages = pages_[gpu->index];
    bool rung = false;
    for (size_t number = 0; number < kOfDevice; ++number) {
      if (!pages.taken[number]) continue;
      uint64_t& seen = seen_[gpu->index * kOfDevice + number];
      const auto value = command::load_shared<uint64_t>(&pages.ours[number]);
      rung |= value != seen;
      seen = value;
    }
    if (rung) gpu->processor->look_at_doorbells();
    any |= rung;
  }
  return any;
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
      const Pages& pages = pages_[i];
      if (std::find(pages.taken.begin(), pages.taken.end(), true) == pages.taken.end()) continue;
      if (!pages.programs) return false;
      if (registered_[i] == pages.programs) continue;
      // A page that is not there cannot be protected.
      for (uint64_t at = 0; at < Store::kDoorbellBytes; at += 4096)
        (void)*reinterpret_cast<volatile uint64_t*>(static_cast<std::byte*>(pages.programs) + at);
      uffdio_register range = {};
      range.range = {reinterpret_cast<uint64_t>(pages.programs), Store::kDoorbellBytes};
      range.mode = UFFDIO_REGISTER_MODE_WP;
      if (ioctl(userfault_, UFFDIO_REGISTER, &range) != 0) return false;
      registered_[i] = pages.programs;
    }
  }
  protect(true);
  if (!look()) {  // else somebody has stored before the protection
    pollfd wait[] = {{userfault_, POLLIN, 0}, {event_, POLLIN, 0}};
    poll(wait, 2, -1);
    uffd_msg message;
    (void)!read(userfault_, &message, sizeof message);
    uint64_t count = 0;
    (void)!read(event_, &count, sizeof count);
  }
  protect(false);  // wakes who has stored
  return true;
}

void Doorbells::run() {
  ask_for_short_slices();
  auto last = Clock::now();
  auto pause = kShortestPause;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || in_use_ != 0; });
      if (stop_) return;
    }
    if (look()) {
      last = Clock::now();
      pause = kShortestPause;
      continue;
    }
    if (Clock::now() - last < kBusy) {
      sched_yield();
      continue;
    }
    if (wait_for_store()) {
      last = Clock::now();
      continue;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(kLongestPause, pause * 2);
  }
}

}  // namespace lockstep::host
