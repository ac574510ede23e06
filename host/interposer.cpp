// The library that `lockstep exec` starts programs with (LD_PRELOAD). It takes the calls by which programs
// reach the kernel's driver of AMD devices, and passes all others on; the driver is loaded when the first of
// these comes, so that a program which never looks for a device pays nothing. No C++ library: programs may
// have none.
#include "host/interposer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "host/interposed_driver.h"
#include "host/interposed_files.h"
#include "host/interposed_kernel.h"
#include "host/interposed_paths.h"

namespace {

using namespace lockstep::interposed;

// ---- Status of files

// What a call is asked of: a node, or one of the driver's files; else it is the kernel's.
struct Asked {
  unsigned short node;
  int file;
};

// By a path, or, if it is empty and the flags allow it, by the descriptor itself.
Asked asked_at(int folder, const char* path, int flags) {
  const char* const text = readable(path);
  if (!text || (!text[0] && !(flags & AT_EMPTY_PATH))) return {kOther, kNotOurs};
  if (!text[0]) return {kind_of(folder), file_of(folder)};
  return {node_at(folder, text), own_file(folder, text, !(flags & AT_SYMLINK_NOFOLLOW))};
}

// A character device, as the nodes are.
bool device_number(unsigned short node, dev_t* number) {
  if (!is_device(node) || !driver()) return false;
  if (node == kControl)
    *number = makedev(511, 0);
  else
    *number = makedev(kDrmMajor, device_of(node) + (node < kCard ? kFirstRenderMinor : 0));
  return true;
}

template <class Status>
void describe_device(Status* status, dev_t number) {
  memset(status, 0, sizeof *status);
  status->st_mode = S_IFCHR | 0666;
  status->st_rdev = number;
  status->st_nlink = 1;
}

template <class Status>
void describe_file(Status* status, int file) {
  const LockstepFile& found = driver()->files[file];
  memset(status, 0, sizeof *status);
  status->st_mode = is_folder(found) ? S_IFDIR | 0555 : found.target ? S_IFLNK | 0777 : S_IFREG | 0444;
  status->st_ino = static_cast<ino_t>(file) + 1;
  status->st_nlink = 1;
  status->st_size = static_cast<off_t>(found.bytes);
  status->st_blksize = 4096;
}

// Whether the question was ours to answer, and with what.
template <class Status>
bool answered(const Asked& asked, Status* status, int* result) {
  dev_t number;
  const bool is_node = device_number(asked.node, &number);
  if (!is_node && asked.file == kNotOurs) return false;
  if (!is_node && asked.file == kMissing) {
    *result = failed_with(ENOENT);
  } else if (!writable(status, sizeof *status)) {
    *result = failed_with(EFAULT);
  } else {
    is_node ? describe_device(status, number) : describe_file(status, asked.file);
    *result = 0;
  }
  return true;
}

template <class Status>
int status_at(int folder, const char* path, Status* status, int flags) {
  int result;
  return answered(asked_at(folder, path, flags), status, &result)
             ? result
             : static_cast<int>(system_call(SYS_newfstatat, folder, path, status, flags));
}

template <class Status>
int status_of(int descriptor, Status* status) {
  int result;
  return answered({kind_of(descriptor), file_of(descriptor)}, status, &result)
             ? result
             : static_cast<int>(system_call(SYS_fstat, descriptor, status));
}

// libudev takes a folder for a device's only if it is in sysfs.
template <class Status>
int file_system_of(int descriptor, Status* status) {
  const int result = static_cast<int>(system_call(SYS_fstatfs, descriptor, status));
  const int file = file_of(descriptor);
  if (result == 0 && file != kNotOurs && begins_with(driver()->files[file].path, "/sys/"))
    status->f_type = SYSFS_MAGIC;
  return result;
}
template <class Status>
int file_system_at(const char* path, Status* status) {
  const int file = own_file(AT_FDCWD, readable(path));
  if (file == kMissing) return failed_with(ENOENT);
  return static_cast<int>(system_call(SYS_statfs, file == kNotOurs ? path : "/sys", status));
}

bool is_ours(const char* path) {
  const auto [node, file] = asked_at(AT_FDCWD, path, 0);
  return node != kOther || file != kNotOurs;
}

FILE* open_text(const char* path, const char* mode) {
  const int flags = mode[0] == 'r' && !strchr(mode, '+') ? O_RDONLY : O_RDWR;
  const int descriptor = open_any(AT_FDCWD, path, flags | (strchr(mode, 'e') ? O_CLOEXEC : 0), 0);
  return descriptor < 0 ? nullptr : fdopen(descriptor, mode);
}

// Whether a path is ours to answer for access().
bool access_of_ours(int folder, const char* path, int how, int flags, int* result) {
  const auto [node, file] = asked_at(folder, path, flags);
  if (is_device(node) && driver()) {
    *result = how & X_OK ? failed_with(EACCES) : 0;
    return true;
  }
  if (file == kNotOurs) return false;
  const bool allowed =
      file != kMissing && !(how & W_OK) && (!(how & X_OK) || is_folder(driver()->files[file]));
  *result = allowed ? 0 : failed_with(file == kMissing ? ENOENT : EACCES);
  return true;
}

ssize_t read_link(int folder, const char* path, char* text, size_t bytes) {
  const int file = own_file(folder, readable(path), false);
  if (file == kNotOurs) return system_call(SYS_readlinkat, folder, path, text, bytes);
  if (file == kMissing) return failed_with(ENOENT);
  const LockstepFile& found = driver()->files[file];
  // The kernel counts in an int.
  if (!found.target || static_cast<int>(bytes) <= 0) return failed_with(EINVAL);
  char whole[kPathBytes];
  const size_t length = link_text(found, whole, bytes < sizeof whole ? bytes : sizeof whole);
  if (!writable(text, length)) return failed_with(EFAULT);
  memcpy(text, whole, length);
  return static_cast<ssize_t>(length);
}

char* real_path(const char* path, char* resolved) {
  static const auto real = next<char* (*)(const char*, char*)>("realpath");
  const int file = own_file(AT_FDCWD, readable(path));
  if (file == kNotOurs) return real(path, resolved);
  if (file == kMissing) {
    errno = ENOENT;
    return nullptr;
  }
  const char* const found = driver()->files[file].path;
  return resolved ? strcpy(resolved, found) : strdup(found);
}

DIR* hosts_folder(const LockstepFile& folder) {
  return next<DIR* (*)(const char*)>("opendir")(folder.path);
}

DIR* open_folder(int file) {
  if (file == kMissing || !is_folder(driver()->files[file])) {
    errno = file == kMissing ? ENOENT : ENOTDIR;
    return nullptr;
  }
  const LockstepFile& folder = driver()->files[file];
  return open_stream(*driver(), file, -1, folder.is_shared ? hosts_folder(folder) : nullptr);
}

template <class Entry>
int scan_folder(int file, Entry*** names, int (*filter)(const Entry*),
                int (*compare)(const Entry**, const Entry**)) {
  static_assert(sizeof(Entry) == sizeof(struct dirent64));
  DIR* const stream = open_folder(file);
  if (!stream) return -1;
  Entry** found = nullptr;
  int count = 0;
  while (auto* const entry = reinterpret_cast<Entry*>(read_stream(stream))) {
    if (filter && !filter(entry)) continue;
    auto** const more =
        static_cast<Entry**>(realloc(found, (static_cast<size_t>(count) + 1) * sizeof(Entry*)));
    auto* const copy = more ? static_cast<Entry*>(malloc(sizeof(Entry))) : nullptr;
    if (more) found = more;
    if (!copy) {
      while (count > 0) free(found[--count]);
      free(found);
      close_stream(stream);
      return failed_with(ENOMEM);
    }
    memcpy(copy, entry, entry->d_reclen);
    found[count++] = copy;
  }
  close_stream(stream);
  if (compare && count > 1)
    qsort(found, static_cast<size_t>(count), sizeof *found,
          reinterpret_cast<int (*)(const void*, const void*)>(compare));
  if (!found) found = static_cast<Entry**>(malloc(sizeof(Entry*)));
  *names = found;
  return count;
}

mode_t mode_of(int flags, va_list arguments) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

// ---- open

LOCKSTEP_TAKEN int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_any(AT_FDCWD, path, flags, mode);
}
LOCKSTEP_TAKEN int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_any(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}
LOCKSTEP_TAKEN int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_any(folder, path, flags, mode);
}
LOCKSTEP_TAKEN int openat64(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_any(folder, path, flags | O_LARGEFILE, mode);
}
// Of programs that were compiled with _FORTIFY_SOURCE.
LOCKSTEP_TAKEN int __open_2(const char* path, int flags) {
  return open_any(AT_FDCWD, path, flags, 0);
}
LOCKSTEP_TAKEN int __open64_2(const char* path, int flags) {
  return open_any(AT_FDCWD, path, flags | O_LARGEFILE, 0);
}
LOCKSTEP_TAKEN int __openat_2(int folder, const char* path, int flags) {
  return open_any(folder, path, flags, 0);
}
LOCKSTEP_TAKEN int __openat64_2(int folder, const char* path, int flags) {
  return open_any(folder, path, flags | O_LARGEFILE, 0);
}

// ---- The program's end

// What libraries and programs in C++ call for each static object, and atexit() for everybody.
LOCKSTEP_TAKEN int __cxa_atexit(void (*handler)(void*), void* argument, void* library) {
  if (is_of_driver(library)) return 0;
  return next<int (*)(void (*)(void*), void*, void*)>("__cxa_atexit")(handler, argument, library);
}

// ---- ioctl, mmap

LOCKSTEP_TAKEN int ioctl(int descriptor, unsigned long request, ...) noexcept {
  va_list arguments;
  va_start(arguments, request);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  const unsigned short kind = kind_of(descriptor);
  // Of every descriptor the kernel answers these itself.
  const bool is_of_descriptor = request == FIOCLEX || request == FIONCLEX || request == FIONBIO;
  if (!is_device(kind) || is_of_descriptor)
    return static_cast<int>(system_call(SYS_ioctl, descriptor, request, argument));
  const LockstepDriver* d = driver();
  if (!d) return failed_with(ENODEV);
  const int error = kind == kControl ? d->kfd_ioctl(request, argument)
                                     : d->render_ioctl(device_of(kind), request, argument);
  return error == 0 ? 0 : failed_with(error);
}
LOCKSTEP_TAKEN void* mmap(void* address, size_t bytes, int protection, int flags, int descriptor,
                          off_t offset) noexcept {
  return map_any(address, bytes, protection, flags, descriptor, offset);
}
LOCKSTEP_TAKEN void* mmap64(void* address, size_t bytes, int protection, int flags, int descriptor,
                            off64_t offset) noexcept {
  return map_any(address, bytes, protection, flags, descriptor, offset);
}

// ---- Files by name

LOCKSTEP_TAKEN FILE* fopen(const char* path, const char* mode) {
  static const auto real = next<FILE* (*)(const char*, const char*)>("fopen");
  return is_ours(path) ? open_text(path, mode) : real(path, mode);
}
LOCKSTEP_TAKEN FILE* fopen64(const char* path, const char* mode) {
  static const auto real = next<FILE* (*)(const char*, const char*)>("fopen64");
  return is_ours(path) ? open_text(path, mode) : real(path, mode);
}
LOCKSTEP_TAKEN int stat(const char* path, struct stat* status) noexcept {
  return status_at(AT_FDCWD, path, status, 0);
}
LOCKSTEP_TAKEN int stat64(const char* path, struct stat64* status) noexcept {
  return status_at(AT_FDCWD, path, status, 0);
}
LOCKSTEP_TAKEN int lstat(const char* path, struct stat* status) noexcept {
  return status_at(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
LOCKSTEP_TAKEN int lstat64(const char* path, struct stat64* status) noexcept {
  return status_at(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
LOCKSTEP_TAKEN int fstatat(int folder, const char* path, struct stat* status, int flags) noexcept {
  return status_at(folder, path, status, flags);
}
LOCKSTEP_TAKEN int fstatat64(int folder, const char* path, struct stat64* status, int flags) noexcept {
  return status_at(folder, path, status, flags);
}
LOCKSTEP_TAKEN int fstat(int descriptor, struct stat* status) noexcept {
  return status_of(descriptor, status);
}
LOCKSTEP_TAKEN int fstat64(int descriptor, struct stat64* status) noexcept {
  return status_of(descriptor, status);
}
// Of programs older than glibc 2.33.
LOCKSTEP_TAKEN int __xstat(int, const char* path, struct stat* status) noexcept {
  return status_at(AT_FDCWD, path, status, 0);
}
LOCKSTEP_TAKEN int __xstat64(int, const char* path, struct stat64* status) noexcept {
  return status_at(AT_FDCWD, path, status, 0);
}
LOCKSTEP_TAKEN int __lxstat(int, const char* path, struct stat* status) noexcept {
  return status_at(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
LOCKSTEP_TAKEN int __lxstat64(int, const char* path, struct stat64* status) noexcept {
  return status_at(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
LOCKSTEP_TAKEN int __fxstat(int, int descriptor, struct stat* status) noexcept {
  return status_of(descriptor, status);
}
LOCKSTEP_TAKEN int __fxstat64(int, int descriptor, struct stat64* status) noexcept {
  return status_of(descriptor, status);
}
LOCKSTEP_TAKEN int statx(int folder, const char* path, int flags, unsigned mask,
                         struct statx* status) noexcept {
  struct stat plain;
  int result;
  if (!answered(asked_at(folder, path, flags), &plain, &result))
    return static_cast<int>(system_call(SYS_statx, folder, path, flags, mask, status));
  if (result != 0) return result;
  if (!writable(status, sizeof *status)) return failed_with(EFAULT);
  memset(status, 0, sizeof *status);
  const bool is_node = S_ISCHR(plain.st_mode);
  status->stx_mask = is_node ? STATX_TYPE | STATX_MODE : STATX_BASIC_STATS;
  status->stx_mode = static_cast<unsigned short>(plain.st_mode);
  status->stx_rdev_major = major(plain.st_rdev);
  status->stx_rdev_minor = minor(plain.st_rdev);
  if (is_node) return 0;
  status->stx_ino = plain.st_ino;
  status->stx_nlink = 1;
  status->stx_size = static_cast<unsigned long>(plain.st_size);
  status->stx_blksize = 4096;
  return 0;
}
LOCKSTEP_TAKEN int fstatfs(int descriptor, struct statfs* status) noexcept {
  return file_system_of(descriptor, status);
}
LOCKSTEP_TAKEN int fstatfs64(int descriptor, struct statfs64* status) noexcept {
  return file_system_of(descriptor, status);
}
LOCKSTEP_TAKEN int statfs(const char* path, struct statfs* status) noexcept {
  return file_system_at(path, status);
}
LOCKSTEP_TAKEN int statfs64(const char* path, struct statfs64* status) noexcept {
  return file_system_at(path, status);
}
LOCKSTEP_TAKEN int access(const char* path, int how) noexcept {
  int result;
  return access_of_ours(AT_FDCWD, path, how, 0, &result)
             ? result
             : static_cast<int>(system_call(SYS_access, path, how));
}
LOCKSTEP_TAKEN int faccessat(int folder, const char* path, int how, int flags) noexcept {
  static const auto real = next<int (*)(int, const char*, int, int)>("faccessat");
  int result;
  return access_of_ours(folder, path, how, flags, &result) ? result : real(folder, path, how, flags);
}
LOCKSTEP_TAKEN ssize_t readlink(const char* path, char* text, size_t bytes) noexcept {
  return read_link(AT_FDCWD, path, text, bytes);
}
LOCKSTEP_TAKEN ssize_t readlinkat(int folder, const char* path, char* text, size_t bytes) noexcept {
  return read_link(folder, path, text, bytes);
}
// Of programs that were compiled with _FORTIFY_SOURCE.
LOCKSTEP_TAKEN ssize_t __readlink_chk(const char* path, char* text, size_t bytes, size_t) noexcept {
  return read_link(AT_FDCWD, path, text, bytes);
}
LOCKSTEP_TAKEN ssize_t __readlinkat_chk(int folder, const char* path, char* text, size_t bytes,
                                        size_t) noexcept {
  return read_link(folder, path, text, bytes);
}
LOCKSTEP_TAKEN char* realpath(const char* path, char* resolved) noexcept {
  return real_path(path, resolved);
}
LOCKSTEP_TAKEN char* __realpath_chk(const char* path, char* resolved, size_t) noexcept {
  return real_path(path, resolved);
}

// ---- Folders

LOCKSTEP_TAKEN DIR* opendir(const char* path) {
  static const auto real = next<DIR* (*)(const char*)>("opendir");
  const int file = own_file(AT_FDCWD, readable(path));
  return file == kNotOurs ? real(path) : open_folder(file);
}
LOCKSTEP_TAKEN DIR* fdopendir(int descriptor) {
  static const auto real = next<DIR* (*)(int)>("fdopendir");
  const int file = file_of(descriptor);
  if (file == kNotOurs) return real(descriptor);
  const LockstepFile& folder = driver()->files[file];
  return open_stream(*driver(), file, descriptor, folder.is_shared ? hosts_folder(folder) : nullptr);
}
LOCKSTEP_TAKEN struct dirent64* readdir64(DIR* stream) {
  static const auto real = next<struct dirent64* (*)(DIR*)>("readdir64");
  return is_stream(stream) ? read_stream(stream) : real(stream);
}
// The same structure where files have 64 bits.
LOCKSTEP_TAKEN struct dirent* readdir(DIR* stream) {
  static const auto real = next<struct dirent* (*)(DIR*)>("readdir");
  return is_stream(stream) ? reinterpret_cast<struct dirent*>(read_stream(stream)) : real(stream);
}
LOCKSTEP_TAKEN int closedir(DIR* stream) {
  static const auto real = next<int (*)(DIR*)>("closedir");
  if (!is_stream(stream)) return real(stream);
  if (stream_descriptor(stream) >= 0) close(stream_descriptor(stream));
  close_stream(stream);
  return 0;
}
LOCKSTEP_TAKEN int dirfd(DIR* stream) noexcept {
  static const auto real = next<int (*)(DIR*)>("dirfd");
  if (!is_stream(stream)) return real(stream);
  int& descriptor = stream_descriptor(stream);
  if (descriptor < 0)
    descriptor = open_any(AT_FDCWD, driver()->files[stream_folder(stream)].path, O_RDONLY | O_CLOEXEC, 0);
  return descriptor;
}
LOCKSTEP_TAKEN void rewinddir(DIR* stream) noexcept {
  static const auto real = next<void (*)(DIR*)>("rewinddir");
  if (!is_stream(stream)) return real(stream);
  rewind_stream(stream);
}
LOCKSTEP_TAKEN long telldir(DIR* stream) noexcept {
  static const auto real = next<long (*)(DIR*)>("telldir");
  return is_stream(stream) ? stream_position(stream) : real(stream);
}
LOCKSTEP_TAKEN void seekdir(DIR* stream, long position) noexcept {
  static const auto real = next<void (*)(DIR*, long)>("seekdir");
  if (!is_stream(stream)) return real(stream, position);
  stream_position(stream) = position < 0 ? 0 : position;
}
LOCKSTEP_TAKEN int scandir(const char* path, struct dirent*** names, int (*filter)(const struct dirent*),
                           int (*compare)(const struct dirent**, const struct dirent**)) {
  static const auto real = next<decltype(&scandir)>("scandir");
  const int file = own_file(AT_FDCWD, readable(path));
  return file == kNotOurs ? real(path, names, filter, compare) : scan_folder(file, names, filter, compare);
}
LOCKSTEP_TAKEN int scandir64(const char* path, struct dirent64*** names,
                             int (*filter)(const struct dirent64*),
                             int (*compare)(const struct dirent64**, const struct dirent64**)) {
  static const auto real = next<decltype(&scandir64)>("scandir64");
  const int file = own_file(AT_FDCWD, readable(path));
  return file == kNotOurs ? real(path, names, filter, compare) : scan_folder(file, names, filter, compare);
}

// ---- Signals: the driver's handler of faults stays in front of the program's

LOCKSTEP_TAKEN int sigaction(int number, const struct sigaction* action, struct sigaction* old) noexcept {
  static const auto real = next<int (*)(int, const struct sigaction*, struct sigaction*)>("sigaction");
  const LockstepDriver* d = present_driver();
  if (!d || (number != SIGSEGV && number != SIGBUS)) return real(number, action, old);
  d->sigaction(number, action, old);
  return 0;
}
LOCKSTEP_TAKEN sighandler_t signal(int number, sighandler_t handler) noexcept {
  static const auto real = next<sighandler_t (*)(int, sighandler_t)>("signal");
  const LockstepDriver* d = present_driver();
  if (!d || (number != SIGSEGV && number != SIGBUS)) return real(number, handler);
  struct sigaction action = {}, old = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  d->sigaction(number, &action, &old);
  return old.sa_flags & SA_SIGINFO ? SIG_DFL : old.sa_handler;
}
