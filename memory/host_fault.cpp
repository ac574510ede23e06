#include "memory/host_fault.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>

namespace lockstep {

namespace {

using detail::HostGuard;

// Of the innermost guarded work of this thread. Initial-exec: the handler may allocate nothing.
[[gnu::tls_model("initial-exec")]] thread_local HostGuard* current_guard = nullptr;

std::atomic<bool> faults_are_caught = false;
struct sigaction previous_segv, previous_bus;

constexpr uint64_t kLowestAddress = 4096;  // below it a pointer of our own was null
constexpr uint64_t kPage = 4096;

// By the kernel itself: in a program under `lockstep exec`, sigaction() and signal() are the interposer's,
// and set what stands behind this handler.
void set_default_action(int signal) {
  struct {
    void (*handler)(int) = SIG_DFL;
    unsigned long flags = 0;
    void (*restorer)() = nullptr;
    uint64_t mask = 0;
  } action;
  syscall(SYS_rt_sigaction, signal, &action, nullptr, sizeof action.mask);
}

void pass_on(int signal, siginfo_t* info, void* context, struct sigaction& previous) {
  const struct sigaction next = previous;
  const bool is_function =
      next.sa_flags & SA_SIGINFO || (next.sa_handler != SIG_DFL && next.sa_handler != SIG_IGN);
  if (is_function && next.sa_flags & SA_RESETHAND) {
    previous.sa_flags &= ~SA_SIGINFO;
    previous.sa_handler = SIG_DFL;
  }
  if (next.sa_flags & SA_SIGINFO) {
    next.sa_sigaction(signal, info, context);
  } else if (is_function) {
    next.sa_handler(signal);
  } else if (info->si_code > 0) {
    // The instruction runs again, and the default action ends the process with the right signal.
    set_default_action(signal);
  } else if (next.sa_handler == SIG_DFL) {
    // Somebody sent it: no instruction would fault again.
    set_default_action(signal);
    syscall(SYS_tgkill, getpid(), gettid(), signal);
  }
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  // Positive codes are the processor's; addresses that are none at all come without a number.
  HostGuard* guard = current_guard;
  if (guard && info->si_code > 0 && info->si_code != SI_KERNEL && address >= kLowestAddress) {
    guard->address = address;
    siglongjmp(guard->jump, 1);
  }
  pass_on(signal, info, context, signal == SIGBUS ? previous_bus : previous_segv);
}

// Whatever the sanitizers think of these addresses.
[[clang::no_sanitize("address", "thread")]] void touch_pages(uint64_t first, uint64_t last, bool write) {
  for (uint64_t at = first;; at = (at / kPage + 1) * kPage) {
    auto* byte = reinterpret_cast<uint8_t*>(at);
    // Others may write to it at the same time: an atomic operation that changes nothing. Of C++'s own the
    // compiler makes a load.
    if (write)
      asm volatile("lock orb $0, %0" : "+m"(*byte));
    else
      (void)__atomic_load_n(byte, __ATOMIC_RELAXED);
    if (at / kPage == last / kPage) return;
  }
}

// Of this thread, of pages that were not there when it came to them.
long page_faults() {
  struct rusage usage;
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_minflt : 0;
}

// A page that nobody has used yet costs a fault, which takes a half less when the kernel makes many at once,
// and asking for those that are there takes longer than touching them: a few of each part tell.
void touch(uint64_t first, uint64_t last, bool write) {
  constexpr uint64_t kPart = 512 * kPage, kTried = 16 * kPage;
  while (last - first >= kPart) {
    const uint64_t end = (first / kPart + 1) * kPart, rest = (first / kPage) * kPage + kTried;
    if (rest < end) {
      const long before = page_faults();
      touch_pages(first, rest - 1, write);
      first = rest;
      const bool are_new = page_faults() - before > static_cast<long>(kTried / kPage / 2);
      if (are_new && madvise(reinterpret_cast<void*>(first), end - first,
                             write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0) {
        first = end;
        continue;
      }
    }
    touch_pages(first, end - 1, write);
    first = end;
  }
  touch_pages(first, last, write);
}

}  // namespace

void catch_host_faults() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action{};
    action.sa_sigaction = on_fault;
    // Left by a jump, the handler must not leave its signal blocked.
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &previous_segv);
    sigaction(SIGBUS, &action, &previous_bus);
    faults_are_caught = true;
  });
}

void set_next_handler(int number, const struct sigaction* action, struct sigaction* old) {
  struct sigaction& next = number == SIGBUS ? previous_bus : previous_segv;
  if (old) *old = next;
  if (action) next = *action;
}

bool detail::host_faults_are_caught() {
  return faults_are_caught.load(std::memory_order_relaxed);
}

HostGuard* detail::enter_host_guard(HostGuard& guard) {
  if (!faults_are_caught.load(std::memory_order_relaxed)) return nullptr;
  guard.outer = current_guard;
  current_guard = &guard;
  return &guard;
}

void detail::leave_host_guard(HostGuard& guard) {
  current_guard = guard.outer;
}

bool host_has(uint64_t address, uint64_t bytes, bool write) {
  if (bytes == 0) return true;
  constexpr uint64_t kHighestAddress = uint64_t{1} << 47;
  if (address < kLowestAddress || bytes > kHighestAddress || address > kHighestAddress - bytes) return false;
  return !guarded([&] { touch(address, address + bytes - 1, write); });
}

bool copy_from_process(void* to, uint64_t address, uint64_t bytes) {
  if (!host_has(address, bytes, false)) return false;
  return bytes == 0 || !guarded([&] { std::memcpy(to, reinterpret_cast<const void*>(address), bytes); });
}

bool copy_to_process(uint64_t address, const void* from, uint64_t bytes) {
  if (!host_has(address, bytes, true)) return false;
  return bytes == 0 || !guarded([&] { std::memcpy(reinterpret_cast<void*>(address), from, bytes); });
}

}  // namespace lockstep
