// What programs do with descriptors beside ioctl() and mmap(). Those of device nodes are of the file that
// holds the devices' memory, which is not what programs would read and write there; and the driver has some
// of its own, which programs do not know of.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "host/interposed_driver.h"
#include "host/interposed_files.h"
#include "host/interposed_kernel.h"
#include "host/interposed_paths.h"
#include "host/interposer.h"

namespace {

using namespace lockstep::interposed;

bool is_drivers_own(int descriptor) {
  const LockstepDriver* const driver = present_driver();
  return driver && driver->is_own_descriptor(descriptor);
}

// As Linux has it: nothing is read from /dev/kfd, and from a render node what displays have done, which
// nothing here has. Nothing is written to either.
ssize_t read_node(int descriptor, unsigned short kind) {
  if (kind == kControl) return failed_with(EINVAL);
  if (system_call(SYS_fcntl, descriptor, F_GETFL) & O_NONBLOCK) return failed_with(EAGAIN);
  return poll(nullptr, 0, -1);
}

template <class Call, class... Arguments>
ssize_t read_by(Call real, int descriptor, Arguments... arguments) {
  const unsigned short kind = kind_of(descriptor);
  return is_device(kind) ? read_node(descriptor, kind) : real(descriptor, arguments...);
}
template <class Call, class... Arguments>
ssize_t write_by(Call real, int descriptor, Arguments... arguments) {
  return is_device(kind_of(descriptor)) ? failed_with(EINVAL) : real(descriptor, arguments...);
}

// Of descriptors only the driver's own stay. There are few of them: each ends a range that the kernel closes.
int close_all(unsigned first, unsigned last, int flags) {
  if (!present_driver() || flags & CLOSE_RANGE_CLOEXEC || first > last)
    return static_cast<int>(system_call(SYS_close_range, first, last, flags));
  constexpr unsigned kMost = 65536;
  for (unsigned number = first; number <= last && number < kMost; ++number) {
    if (!is_drivers_own(static_cast<int>(number))) continue;
    if (number > first && system_call(SYS_close_range, first, number - 1, flags) != 0) return -1;
    first = number + 1;
  }
  return first > last ? 0 : static_cast<int>(system_call(SYS_close_range, first, last, flags));
}

// Handlers of signals may read and write, and dlsym() is nothing for them: it has been called by then.
__attribute__((constructor)) void find_what_handlers_call() {
  const int before = errno;
  (void)!read(-1, nullptr, 0);
  (void)!write(-1, nullptr, 0);
  errno = before;
}

}  // namespace

// ---- Closing and copies

LOCKSTEP_TAKEN int close(int descriptor) {
  if (is_drivers_own(descriptor)) return failed_with(EBADF);
  set_kind(descriptor, kOther);
  return static_cast<int>(system_call(SYS_close, descriptor));
}
LOCKSTEP_TAKEN int dup(int descriptor) noexcept {
  return copied(descriptor, static_cast<int>(system_call(SYS_dup, descriptor)));
}
LOCKSTEP_TAKEN int dup2(int descriptor, int to) noexcept {
  if (is_drivers_own(to)) return failed_with(EBADF);
  return copied(descriptor, static_cast<int>(system_call(SYS_dup2, descriptor, to)));
}
LOCKSTEP_TAKEN int dup3(int descriptor, int to, int flags) noexcept {
  if (is_drivers_own(to)) return failed_with(EBADF);
  return copied(descriptor, static_cast<int>(system_call(SYS_dup3, descriptor, to, flags)));
}
LOCKSTEP_TAKEN int fcntl(int descriptor, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  const int result = static_cast<int>(system_call(SYS_fcntl, descriptor, command, argument));
  return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? copied(descriptor, result) : result;
}
LOCKSTEP_TAKEN int fcntl64(int descriptor, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return fcntl(descriptor, command, argument);
}
LOCKSTEP_TAKEN int close_range(unsigned first, unsigned last, int flags) noexcept {
  return close_all(first, last, flags);
}
LOCKSTEP_TAKEN void closefrom(int lowest) noexcept {
  static const auto real = next<void (*)(int)>("closefrom");
  // Kernels before Linux 5.9 have no close_range().
  if (!present_driver()) return real(lowest);
  if (close_all(lowest < 0 ? 0 : static_cast<unsigned>(lowest), UINT_MAX, 0) == 0) return;
  const long most = sysconf(_SC_OPEN_MAX);
  for (int descriptor = lowest < 0 ? 0 : lowest; descriptor < most; ++descriptor) close(descriptor);
}

// ---- Reading and writing

LOCKSTEP_TAKEN ssize_t read(int descriptor, void* to, size_t bytes) {
  static const auto real = next<decltype(&read)>("read");
  return read_by(real, descriptor, to, bytes);
}
LOCKSTEP_TAKEN ssize_t pread(int descriptor, void* to, size_t bytes, off_t offset) {
  static const auto real = next<decltype(&pread)>("pread");
  return read_by(real, descriptor, to, bytes, offset);
}
LOCKSTEP_TAKEN ssize_t pread64(int descriptor, void* to, size_t bytes, off64_t offset) {
  static const auto real = next<decltype(&pread64)>("pread64");
  return read_by(real, descriptor, to, bytes, offset);
}
LOCKSTEP_TAKEN ssize_t readv(int descriptor, const iovec* parts, int count) {
  static const auto real = next<decltype(&readv)>("readv");
  return read_by(real, descriptor, parts, count);
}
LOCKSTEP_TAKEN ssize_t preadv(int descriptor, const iovec* parts, int count, off_t offset) {
  static const auto real = next<decltype(&preadv)>("preadv");
  return read_by(real, descriptor, parts, count, offset);
}
LOCKSTEP_TAKEN ssize_t preadv64(int descriptor, const iovec* parts, int count, off64_t offset) {
  static const auto real = next<decltype(&preadv64)>("preadv64");
  return read_by(real, descriptor, parts, count, offset);
}
LOCKSTEP_TAKEN ssize_t preadv2(int descriptor, const iovec* parts, int count, off_t offset, int flags) {
  static const auto real = next<decltype(&preadv2)>("preadv2");
  return read_by(real, descriptor, parts, count, offset, flags);
}
LOCKSTEP_TAKEN ssize_t preadv64v2(int descriptor, const iovec* parts, int count, off64_t offset, int flags) {
  static const auto real = next<decltype(&preadv64v2)>("preadv64v2");
  return read_by(real, descriptor, parts, count, offset, flags);
}
// Of programs that were compiled with _FORTIFY_SOURCE.
extern "C" ssize_t __read_chk(int, void*, size_t, size_t);
extern "C" ssize_t __pread_chk(int, void*, size_t, off_t, size_t);
extern "C" ssize_t __pread64_chk(int, void*, size_t, off64_t, size_t);
LOCKSTEP_TAKEN ssize_t __read_chk(int descriptor, void* to, size_t bytes, size_t room) {
  static const auto real = next<decltype(&__read_chk)>("__read_chk");
  return read_by(real, descriptor, to, bytes, room);
}
LOCKSTEP_TAKEN ssize_t __pread_chk(int descriptor, void* to, size_t bytes, off_t offset, size_t room) {
  static const auto real = next<decltype(&__pread_chk)>("__pread_chk");
  return read_by(real, descriptor, to, bytes, offset, room);
}
LOCKSTEP_TAKEN ssize_t __pread64_chk(int descriptor, void* to, size_t bytes, off64_t offset, size_t room) {
  static const auto real = next<decltype(&__pread64_chk)>("__pread64_chk");
  return read_by(real, descriptor, to, bytes, offset, room);
}
LOCKSTEP_TAKEN ssize_t write(int descriptor, const void* from, size_t bytes) {
  static const auto real = next<decltype(&write)>("write");
  return write_by(real, descriptor, from, bytes);
}
LOCKSTEP_TAKEN ssize_t pwrite(int descriptor, const void* from, size_t bytes, off_t offset) {
  static const auto real = next<decltype(&pwrite)>("pwrite");
  return write_by(real, descriptor, from, bytes, offset);
}
LOCKSTEP_TAKEN ssize_t pwrite64(int descriptor, const void* from, size_t bytes, off64_t offset) {
  static const auto real = next<decltype(&pwrite64)>("pwrite64");
  return write_by(real, descriptor, from, bytes, offset);
}
LOCKSTEP_TAKEN ssize_t writev(int descriptor, const iovec* parts, int count) {
  static const auto real = next<decltype(&writev)>("writev");
  return write_by(real, descriptor, parts, count);
}
LOCKSTEP_TAKEN ssize_t pwritev(int descriptor, const iovec* parts, int count, off_t offset) {
  static const auto real = next<decltype(&pwritev)>("pwritev");
  return write_by(real, descriptor, parts, count, offset);
}
LOCKSTEP_TAKEN ssize_t pwritev64(int descriptor, const iovec* parts, int count, off64_t offset) {
  static const auto real = next<decltype(&pwritev64)>("pwritev64");
  return write_by(real, descriptor, parts, count, offset);
}
LOCKSTEP_TAKEN ssize_t pwritev2(int descriptor, const iovec* parts, int count, off_t offset, int flags) {
  static const auto real = next<decltype(&pwritev2)>("pwritev2");
  return write_by(real, descriptor, parts, count, offset, flags);
}
LOCKSTEP_TAKEN ssize_t pwritev64v2(int descriptor, const iovec* parts, int count, off64_t offset, int flags) {
  static const auto real = next<decltype(&pwritev64v2)>("pwritev64v2");
  return write_by(real, descriptor, parts, count, offset, flags);
}
// No file that has a size or places.
LOCKSTEP_TAKEN int ftruncate(int descriptor, off_t bytes) noexcept {
  return is_device(kind_of(descriptor)) ? failed_with(EINVAL)
                                        : static_cast<int>(system_call(SYS_ftruncate, descriptor, bytes));
}
LOCKSTEP_TAKEN int ftruncate64(int descriptor, off64_t bytes) noexcept {
  return is_device(kind_of(descriptor)) ? failed_with(EINVAL)
                                        : static_cast<int>(system_call(SYS_ftruncate, descriptor, bytes));
}
LOCKSTEP_TAKEN int fallocate(int descriptor, int mode, off_t offset, off_t bytes) {
  static const auto real = next<decltype(&fallocate)>("fallocate");
  return is_device(kind_of(descriptor)) ? failed_with(ENODEV) : real(descriptor, mode, offset, bytes);
}
LOCKSTEP_TAKEN int fallocate64(int descriptor, int mode, off64_t offset, off64_t bytes) {
  static const auto real = next<decltype(&fallocate64)>("fallocate64");
  return is_device(kind_of(descriptor)) ? failed_with(ENODEV) : real(descriptor, mode, offset, bytes);
}
LOCKSTEP_TAKEN off_t lseek(int descriptor, off_t offset, int from) noexcept {
  const unsigned short kind = kind_of(descriptor);
  if (is_device(kind)) return kind == kControl ? failed_with(ESPIPE) : 0;
  return system_call(SYS_lseek, descriptor, offset, from);
}
LOCKSTEP_TAKEN off64_t lseek64(int descriptor, off64_t offset, int from) noexcept {
  const unsigned short kind = kind_of(descriptor);
  if (is_device(kind)) return kind == kControl ? failed_with(ESPIPE) : 0;
  return system_call(SYS_lseek, descriptor, offset, from);
}
