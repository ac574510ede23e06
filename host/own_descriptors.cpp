#include "host/own_descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>

namespace lockstep::host {

namespace {

constexpr int kMostDescriptors = 65536;  // of higher numbers programs are not kept from
std::atomic<uint64_t> own[kMostDescriptors / 64];

uint64_t bit_of(int descriptor) {
  return uint64_t{1} << (descriptor % 64);
}

// Programs choose low numbers. A table of descriptors is as large as the highest of them.
int lowest_number() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur / 4 * 3, 768));
}

}  // namespace

int own_copy(int descriptor) {
  int copy = static_cast<int>(syscall(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, lowest_number()));
  if (copy < 0 && errno == EMFILE)
    copy = static_cast<int>(syscall(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, 0));
  if (copy >= 0 && copy < kMostDescriptors) own[copy / 64].fetch_or(bit_of(copy));
  return copy;
}

int taken_over(int descriptor) {
  if (descriptor < 0) return descriptor;
  const int copy = own_copy(descriptor);
  const int error = errno;
  syscall(SYS_close, descriptor);
  errno = error;
  return copy;
}

void close_own(int descriptor) {
  if (descriptor < 0) return;
  // Before the number may become another file's.
  if (descriptor < kMostDescriptors) own[descriptor / 64].fetch_and(~bit_of(descriptor));
  syscall(SYS_close, descriptor);
}

bool is_own_descriptor(int descriptor) {
  return descriptor >= 0 && descriptor < kMostDescriptors &&
         (own[descriptor / 64].load(std::memory_order_relaxed) & bit_of(descriptor)) != 0;
}

}  // namespace lockstep::host
