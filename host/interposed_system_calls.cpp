// syscall(), as programs call it for what the C library has functions for: the calls that this library takes
// by name do the same.
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/interposed_driver.h"
#include "host/interposed_files.h"
#include "host/interposed_kernel.h"
#include "host/interposed_paths.h"
#include "host/interposer.h"

namespace lockstep::interposed {

SystemCall libcs_system_call() {
  static SystemCall real;
  if (!real) real = next<SystemCall>("syscall");
  return real;
}

}  // namespace lockstep::interposed

namespace {

using namespace lockstep::interposed;

struct Arguments {
  long values[6];

  int number(int i) const { return static_cast<int>(values[i]); }
  unsigned bits(int i) const { return static_cast<unsigned>(values[i]); }
  size_t bytes(int i) const { return static_cast<size_t>(values[i]); }
  template <class Pointee>
  Pointee* place(int i) const {
    return reinterpret_cast<Pointee*>(values[i]);
  }
  const char* path(int i) const { return place<const char>(i); }
};

bool is_ours(int folder, const char* path) {
  const char* const text = readable(path);
  return text && text[0] && (node_at(folder, text) != kOther || own_file(folder, text) != kNotOurs);
}

// How it is to be opened is said by a structure, which may be no memory of the program's.
long open_as_said(const Arguments& asked) {
  open_how how = {};
  const bool is_there = asked.bytes(3) >= sizeof how && is_ours(asked.number(0), asked.path(1));
  if (!is_there || !copied_in(&how, asked.place<const void>(2), sizeof how))
    return system_call(SYS_openat2, asked.values[0], asked.values[1], asked.values[2], asked.values[3]);
  return open_any(asked.number(0), asked.path(1), static_cast<int>(how.flags), static_cast<mode_t>(how.mode));
}

// By paths, or what descriptors stand for; whether it is such a call.
bool asked_of_files(long number, const Arguments& asked, long* result) {
  switch (number) {
#ifdef SYS_open  // newer architectures have the calls alone that begin at a folder
    case SYS_open:
      *result = open_any(AT_FDCWD, asked.path(0), asked.number(1), asked.bits(2));
      return true;
    case SYS_stat:
      *result = stat(asked.path(0), asked.place<struct stat>(1));
      return true;
    case SYS_lstat:
      *result = lstat(asked.path(0), asked.place<struct stat>(1));
      return true;
    case SYS_access:
      *result = access(asked.path(0), asked.number(1));
      return true;
    case SYS_readlink:
      *result = readlink(asked.path(0), asked.place<char>(1), asked.bytes(2));
      return true;
#endif
    case SYS_openat:
      *result = open_any(asked.number(0), asked.path(1), asked.number(2), asked.bits(3));
      return true;
    case SYS_openat2:
      *result = open_as_said(asked);
      return true;
    case SYS_newfstatat:
      *result = fstatat(asked.number(0), asked.path(1), asked.place<struct stat>(2), asked.number(3));
      return true;
    case SYS_fstat:
      *result = fstat(asked.number(0), asked.place<struct stat>(1));
      return true;
    case SYS_statx:
      *result =
          statx(asked.number(0), asked.path(1), asked.number(2), asked.bits(3), asked.place<struct statx>(4));
      return true;
    case SYS_statfs:
      *result = statfs(asked.path(0), asked.place<struct statfs>(1));
      return true;
    case SYS_fstatfs:
      *result = fstatfs(asked.number(0), asked.place<struct statfs>(1));
      return true;
    case SYS_faccessat:
      *result = faccessat(asked.number(0), asked.path(1), asked.number(2), 0);
      return true;
    case SYS_faccessat2:
      *result = faccessat(asked.number(0), asked.path(1), asked.number(2), asked.number(3));
      return true;
    case SYS_readlinkat:
      *result = readlinkat(asked.number(0), asked.path(1), asked.place<char>(2), asked.bytes(3));
      return true;
    default:
      return false;
  }
}

bool asked_of_descriptors(long number, const Arguments& asked, long* result) {
  const int descriptor = asked.number(0);
  switch (number) {
    case SYS_ioctl:
      *result = ioctl(descriptor, static_cast<unsigned long>(asked.values[1]), asked.place<void>(2));
      return true;
    case SYS_mmap:
      *result = reinterpret_cast<long>(map_any(asked.place<void>(0), asked.bytes(1), asked.number(2),
                                               asked.number(3), asked.number(4), asked.values[5]));
      return true;
    case SYS_close:
      *result = close(descriptor);
      return true;
    case SYS_close_range:
      *result = close_range(asked.bits(0), asked.bits(1), asked.number(2));
      return true;
    case SYS_dup:
      *result = dup(descriptor);
      return true;
#ifdef SYS_dup2
    case SYS_dup2:
      *result = dup2(descriptor, asked.number(1));
      return true;
#endif
    case SYS_dup3:
      *result = dup3(descriptor, asked.number(1), asked.number(2));
      return true;
    case SYS_fcntl:
      *result = fcntl(descriptor, asked.number(1), asked.place<void>(2));
      return true;
    default:
      return false;
  }
}

// What nodes have no contents for; of other descriptors these are the kernel's.
bool asked_of_contents(long number, const Arguments& asked, long* result) {
  const int descriptor = asked.number(0);
  switch (number) {
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2:
      if (!is_device(kind_of(descriptor))) return false;
      *result = read(descriptor, nullptr, 0);
      return true;
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
      if (!is_device(kind_of(descriptor))) return false;
      *result = write(descriptor, nullptr, 0);
      return true;
    case SYS_lseek:
      *result = lseek(descriptor, asked.values[1], asked.number(2));
      return true;
    case SYS_ftruncate:
      *result = ftruncate(descriptor, asked.values[1]);
      return true;
    case SYS_fallocate:
      *result = fallocate(descriptor, asked.number(1), asked.values[2], asked.values[3]);
      return true;
    default:
      return false;
  }
}

}  // namespace

LOCKSTEP_TAKEN long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  Arguments asked;
  for (long& value : asked.values) value = va_arg(list, long);
  va_end(list);
  long result;
  if (!is_of_driver(__builtin_return_address(0)) &&
      (asked_of_files(number, asked, &result) || asked_of_descriptors(number, asked, &result) ||
       asked_of_contents(number, asked, &result)))
    return result;
  const long(&values)[6] = asked.values;
  return system_call(number, values[0], values[1], values[2], values[3], values[4], values[5]);
}
