#include "host/interposed_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/interposed_driver.h"
#include "host/interposed_files.h"
#include "host/interposed_kernel.h"

namespace lockstep::interposed {
namespace {

constexpr int kMostDescriptors = 65536;
constexpr char kKfd[] = "/dev/kfd", kRenderNode[] = "/dev/dri/renderD", kCardNode[] = "/dev/dri/card";

// Folders of the host above some of ours: libudev walks from the root, with a descriptor of each folder on
// the way.
constexpr const char* kAncestors[] = {"/",
                                      "/sys",
                                      "/sys/bus",
                                      "/sys/bus/pci",
                                      "/sys/bus/pci/drivers",
                                      "/sys/class",
                                      "/sys/dev",
                                      "/sys/dev/char",
                                      "/sys/devices",
                                      "/sys/devices/pci0000:00",
                                      "/sys/devices/virtual",
                                      "/sys/module"};

unsigned short kinds[kMostDescriptors];
// The files that descriptors of a kind belong to, by their numbers: a descriptor that was closed by a call
// that is not taken comes back as another file's.
ino_t numbers[kMostDescriptors];

ino_t file_number(int descriptor) {
  struct stat status;
  const int before = errno;
  const bool there = system_call(SYS_fstat, descriptor, &status) == 0;
  errno = before;
  return there ? status.st_ino : 0;
}

// As the kernel sees it: it fetches a set of signals from there before it refuses what is to be done with it.
bool may_read(uintptr_t place) {
  constexpr int kNothing = -1;
  constexpr uintptr_t kSetBytes = 8;
  if (place < kSetBytes) return false;  // of which the kernel would take it that there is no set
  const int before = errno;
  system_call(SYS_rt_sigprocmask, kNothing, place / kSetBytes * kSetBytes, nullptr, kSetBytes);
  const bool faults = errno == EFAULT;
  errno = before;
  return !faults;
}

// Likewise: it puts a byte there.
bool may_write(uintptr_t place) {
  constexpr unsigned kDoNotWait = 1;  // GRND_NONBLOCK
  const int before = errno;
  const bool faults = system_call(SYS_getrandom, place, 1, kDoNotWait) < 0 && errno == EFAULT;
  errno = before;
  return !faults;
}

// Where the driver has files. Programs read /sys for many reasons: for other paths it is not loaded.
bool may_be_device_path(const char* path) {
  if (!path || path[0] != '/') return false;
  if (begins_with(path, "/dev/dri") || begins_with(path, "/usr/share/libdrm")) return true;
  if (!begins_with(path, "/sys/")) return false;
  static constexpr const char* kFolders[] = {
      "class/drm",   "class/kfd",     "class/pci_bus/",  "dev/char/226:",         "devices/virtual/kfd",
      "devices/pci", "module/amdgpu", "bus/pci/devices", "bus/pci/drivers/amdgpu"};
  for (const char* folder : kFolders)
    if (begins_with(path + 5, folder)) return true;
  return false;
}

// Where a path that begins at a descriptor leads, in `whole` if that is a folder of ours or above one; null
// if that is nowhere.
const char* from_root(int folder, const char* path, char (&whole)[kPathBytes]) {
  const unsigned short kind = path && path[0] != '/' ? kind_of(folder) : kOther;
  if (kind < kAncestor) return path;
  const LockstepDriver* const d = kind < kFolder ? nullptr : driver();
  if (kind >= kFolder && !d) return nullptr;
  const char* const begin = d ? d->files[kind - kFolder].path : kAncestors[kind - kAncestor];
  const int length = snprintf(whole, sizeof whole, "%s%s%s", begin[1] ? begin : "", path[0] ? "/" : "", path);
  return length < static_cast<int>(sizeof whole) ? whole : nullptr;
}

// The number of the host's folder above ours that a path leads to; kNotOurs if it is none.
int ancestor_at(int folder, const char* path) {
  char whole[kPathBytes], clean[kPathBytes];
  path = from_root(folder, path, whole);
  if (!path || path[0] != '/' || (path[1] && !begins_with(path, "/sys"))) return kNotOurs;
  if (!resolve(nullptr, path, true, clean)) return kNotOurs;
  for (int i = 0; i < static_cast<int>(sizeof kAncestors / sizeof *kAncestors); ++i)
    if (strcmp(clean, kAncestors[i]) == 0) return i;
  return kNotOurs;
}

}  // namespace

bool is_device(unsigned short kind) {
  return kind != kOther && kind < kAncestor;
}
bool is_render(unsigned short kind) {
  return is_device(kind) && kind >= kRender;
}
unsigned device_of(unsigned short kind) {
  return kind - (kind < kCard ? kRender : kCard);
}
unsigned short kind_of(int descriptor) {
  if (descriptor < 0 || descriptor >= kMostDescriptors) return kOther;
  const unsigned short kind = __atomic_load_n(&kinds[descriptor], __ATOMIC_RELAXED);
  if (kind == kOther || file_number(descriptor) == __atomic_load_n(&numbers[descriptor], __ATOMIC_RELAXED))
    return kind;
  set_kind(descriptor, kOther);
  return kOther;
}
void set_kind(int descriptor, unsigned short kind) {
  if (descriptor < 0 || descriptor >= kMostDescriptors) return;
  if (kind != kOther) __atomic_store_n(&numbers[descriptor], file_number(descriptor), __ATOMIC_RELAXED);
  __atomic_store_n(&kinds[descriptor], kind, __ATOMIC_RELAXED);
}
int file_of(int descriptor) {
  const unsigned short kind = kind_of(descriptor);
  return kind >= kFolder ? kind - kFolder : kNotOurs;
}

int copied(int from, int to) {
  if (to >= 0) set_kind(to, kind_of(from));
  return to;
}

void forget_descriptors() {
  memset(kinds, kOther, sizeof kinds);
}

const char* readable(const char* path) {
  if (!path) return nullptr;
  constexpr uintptr_t kPage = 4096;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(path);
  for (uintptr_t at = begin; at - begin < kPathBytes;) {
    if (!may_read(at)) return nullptr;
    const uintptr_t page_end = (at / kPage + 1) * kPage, most_end = begin + kPathBytes;
    const uintptr_t end = page_end < most_end ? page_end : most_end;
    if (memchr(reinterpret_cast<const void*>(at), 0, end - at)) return path;
    at = end;
  }
  return nullptr;
}

bool writable(void* place, size_t bytes) {
  if (bytes == 0) return true;
  constexpr uintptr_t kPage = 4096;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(place), last = begin + bytes - 1;
  if (last < begin) return false;
  for (uintptr_t at = begin;; at = (at / kPage + 1) * kPage) {
    if (!may_write(at)) return false;
    if (at / kPage == last / kPage) return true;
  }
}

bool copied_in(void* to, const void* from, size_t bytes) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(from);
  if (bytes == 0 || begin + bytes < begin || !may_read(begin) || !may_read(begin + bytes - 1)) return false;
  memcpy(to, from, bytes);
  return true;
}

bool begins_with(const char* text, const char* prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

unsigned short node_at(int folder, const char* path) {
  char whole[kPathBytes], clean[kPathBytes];
  path = from_root(folder, path, whole);
  if (!path || path[0] != '/' || !resolve(nullptr, path, true, clean)) return kOther;
  // A node is no folder.
  if (path[strlen(path) - 1] == '/') return kOther;
  if (strcmp(clean, kKfd) == 0) return kControl;
  const bool is_card = begins_with(clean, kCardNode);
  if (!is_card && !begins_with(clean, kRenderNode)) return kOther;
  const char* const number = clean + (is_card ? sizeof kCardNode : sizeof kRenderNode) - 1;
  char* end = nullptr;
  const long minor = strtol(number, &end, 10);
  if (end == number || *end != 0) return kOther;
  const LockstepDriver* d = driver();
  const long device = is_card ? minor : minor - kFirstRenderMinor;
  if (!d || device < 0 || device >= d->devices) return kOther;
  return static_cast<unsigned short>((is_card ? kCard : kRender) + device);
}

int own_file(int folder, const char* path, bool to_its_end) {
  char whole[kPathBytes];
  path = from_root(folder, path, whole);
  const LockstepDriver* d = may_be_device_path(path) ? driver() : nullptr;
  return d ? find_file(*d, path, to_its_end) : kNotOurs;
}

int failed_with(int error) {
  errno = error;
  return -1;
}

namespace {

int open_device(unsigned short kind, int flags) {
  const LockstepDriver* d = driver();
  const int file = d ? d->descriptor() : -1;
  if (file < 0) return failed_with(ENODEV);
  const int descriptor =
      static_cast<int>(system_call(SYS_fcntl, file, flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 0));
  if (descriptor >= kMostDescriptors) {
    system_call(SYS_close, descriptor);
    return failed_with(EMFILE);
  }
  set_kind(descriptor, kind);
  return descriptor;
}

// The descriptor that a path of the process's own descriptors names; -1 if it is no such path.
int descriptor_named(const char* path) {
  constexpr char kOwn[] = "/proc/self/fd/";
  if (!path || !begins_with(path, kOwn)) return -1;
  char* end = nullptr;
  const long number = strtol(path + sizeof kOwn - 1, &end, 10);
  return end == path + sizeof kOwn - 1 || *end != 0 || number > kMostDescriptors ? -1
                                                                                 : static_cast<int>(number);
}

// `text`: the path, if it can be read.
int open_hosts(int folder, const char* path, const char* text, int flags, mode_t mode) {
  if (const int same = descriptor_named(text); kind_of(same) != kOther)
    return copied(same, static_cast<int>(system_call(SYS_openat, folder, path, flags, mode)));
  const int ancestor = (flags & O_ACCMODE) == O_RDONLY ? ancestor_at(folder, text) : kNotOurs;
  if (ancestor == kNotOurs) return static_cast<int>(system_call(SYS_openat, folder, path, flags, mode));
  int descriptor = static_cast<int>(system_call(SYS_openat, AT_FDCWD, kAncestors[ancestor], flags, mode));
  // Where the host has no such folder another one of its kind stands for it.
  if (descriptor < 0 && errno == ENOENT)
    descriptor = static_cast<int>(system_call(SYS_openat, AT_FDCWD, "/sys", flags, mode));
  if (descriptor >= 0) set_kind(descriptor, static_cast<unsigned short>(kAncestor + ancestor));
  return descriptor;
}

}  // namespace

int open_any(int folder, const char* path, int flags, mode_t mode) {
  const char* text = readable(path);
  if (text && !text[0]) text = nullptr;  // there is no such file, whatever the folder
  if (const unsigned short node = node_at(folder, text)) return open_device(node, flags);
  const int file = own_file(folder, text, !(flags & O_NOFOLLOW));
  if (file == kNotOurs) return open_hosts(folder, path, text, flags, mode);
  if (file == kMissing) return failed_with(ENOENT);
  const LockstepFile& found = driver()->files[file];
  if (found.target && !(flags & O_PATH)) return failed_with(ELOOP);
  // Relative to the host's own folder its files are found, and ours by what it is known to stand for.
  int descriptor =
      found.is_shared ? static_cast<int>(system_call(SYS_openat, AT_FDCWD, found.path, flags, mode)) : -1;
  if (descriptor < 0) descriptor = open_file(*driver(), file, flags);
  if (descriptor >= 0 && (is_folder(found) || found.target))
    set_kind(descriptor, static_cast<unsigned short>(kFolder + file));
  return descriptor;
}

void* map_any(void* address, size_t bytes, int protection, int flags, int descriptor, off_t offset) {
  const unsigned short kind = kind_of(descriptor);
  const LockstepDriver* const d = is_device(kind) ? driver() : nullptr;
  if (!d)
    return reinterpret_cast<void*>(
        system_call(SYS_mmap, address, bytes, protection, flags, descriptor, offset));
  // The emulated device reaches by this mapping what the host may be kept from.
  if (is_render(kind)) protection |= PROT_READ | PROT_WRITE;
  uint64_t place = static_cast<uint64_t>(offset);
  const int file = d->descriptor_at(&place, bytes);
  if (file < 0) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  const long mapped = system_call(SYS_mmap, address, bytes, protection, flags, file, place);
  if (mapped != -1) d->mapped(static_cast<uint64_t>(offset), reinterpret_cast<void*>(mapped));
  return reinterpret_cast<void*>(mapped);
}

}  // namespace lockstep::interposed
