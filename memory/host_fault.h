// Memory of the host that goes away while somebody works in it: a program may unmap what it has given to the
// guest, and free() tells nobody.
#pragma once

#include <signal.h>

#include <csetjmp>
#include <cstdint>
#include <optional>

namespace lockstep {

// From now on a guarded access to memory that the process does not have ends the guarded work instead of the
// process. Handlers that were there before see all other faults. For processes that are somebody else's
// (host/): without it `guarded` does nothing beside its work.
void catch_host_faults();

// What sigaction() does for the program once faults are caught: its handlers of SIGSEGV and SIGBUS stand
// behind ours. `number` is one of the two; `action` and `old` may be null.
void set_next_handler(int number, const struct sigaction* action, struct sigaction* old);

namespace detail {

struct HostGuard {
  sigjmp_buf jump;
  uint64_t address = 0;
  HostGuard* outer = nullptr;
};
bool host_faults_are_caught();
// Null where faults are not caught.
HostGuard* enter_host_guard(HostGuard& guard);
void leave_host_guard(HostGuard& guard);

}  // namespace detail

// Does the work; the address if it touched memory that is not there. It is left where it was, so it may hold
// no lock, and own nothing.
// Apart from guarded(): a function that calls sigsetjmp is compiled as if everything in it could happen
// twice.
template <class Work>
[[gnu::noinline]] std::optional<uint64_t> guarded_work(Work& work) {
  detail::HostGuard guard;
  if (!detail::enter_host_guard(guard)) {
    work();
    return std::nullopt;
  }
  if (sigsetjmp(guard.jump, 0) != 0) {
    detail::leave_host_guard(guard);
    return guard.address;
  }
  work();
  detail::leave_host_guard(guard);
  return std::nullopt;
}
template <class Work>
std::optional<uint64_t> guarded(Work&& work) {
  if (detail::host_faults_are_caught()) return guarded_work(work);
  work();
  return std::nullopt;
}

// Whether the process has all pages of [address, address + bytes), and may write to them: looks at each. True
// where faults are not caught.
bool host_has(uint64_t address, uint64_t bytes, bool write);

// Copies from and to memory that the process may have taken away, or takes away meanwhile; false: not all of
// it was there.
bool copy_from_process(void* to, uint64_t address, uint64_t bytes);
bool copy_to_process(uint64_t address, const void* from, uint64_t bytes);

}  // namespace lockstep
