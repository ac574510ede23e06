#include "host/interposed_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/interposed_driver.h"
#include "host/interposed_files.h"

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
  return __atomic_load_n(&kinds[descriptor], __ATOMIC_RELAXED);
}
void set_kind(int descriptor, unsigned short kind) {
  if (descriptor >= 0 && descriptor < kMostDescriptors)
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

bool begins_with(const char* text, const char* prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool is_path(const char* path) {
  return path && path[0];
}
bool is_control(const char* path) {
  return path && strcmp(path, kKfd) == 0;
}

unsigned short node_of(const char* path) {
  if (!path) return kOther;
  const bool is_card = begins_with(path, kCardNode);
  if (!is_card && !begins_with(path, kRenderNode)) return kOther;
  const char* const number = path + (is_card ? sizeof kCardNode : sizeof kRenderNode) - 1;
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
      static_cast<int>(syscall(SYS_fcntl, file, flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 0));
  if (descriptor >= kMostDescriptors) {
    syscall(SYS_close, descriptor);
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

int open_hosts(int folder, const char* path, int flags, mode_t mode) {
  if (const int same = descriptor_named(path); kind_of(same) != kOther)
    return copied(same, static_cast<int>(syscall(SYS_openat, folder, path, flags, mode)));
  const int ancestor = (flags & O_ACCMODE) == O_RDONLY ? ancestor_at(folder, path) : kNotOurs;
  if (ancestor == kNotOurs) return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
  int descriptor = static_cast<int>(syscall(SYS_openat, AT_FDCWD, kAncestors[ancestor], flags, mode));
  // Where the host has no such folder another one of its kind stands for it.
  if (descriptor < 0 && errno == ENOENT)
    descriptor = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/sys", flags, mode));
  if (descriptor >= 0) set_kind(descriptor, static_cast<unsigned short>(kAncestor + ancestor));
  return descriptor;
}

}  // namespace

int open_any(int folder, const char* path, int flags, mode_t mode) {
  if (is_control(path)) return open_device(kControl, flags);
  if (const unsigned short node = node_of(path)) return open_device(node, flags);
  const int file = own_file(folder, path, !(flags & O_NOFOLLOW));
  if (file == kNotOurs) return open_hosts(folder, path, flags, mode);
  if (file == kMissing) return failed_with(ENOENT);
  const LockstepFile& found = driver()->files[file];
  if (found.target && !(flags & O_PATH)) return failed_with(ELOOP);
  // Relative to the host's own folder its files are found, and ours by what it is known to stand for.
  int descriptor =
      found.is_shared ? static_cast<int>(syscall(SYS_openat, AT_FDCWD, found.path, flags, mode)) : -1;
  if (descriptor < 0) descriptor = open_file(*driver(), file, flags);
  if (descriptor >= 0 && (is_folder(found) || found.target))
    set_kind(descriptor, static_cast<unsigned short>(kFolder + file));
  return descriptor;
}

void* map_any(void* address, size_t bytes, int protection, int flags, int descriptor, off_t offset) {
  const unsigned short kind = kind_of(descriptor);
  const LockstepDriver* const d = is_device(kind) ? driver() : nullptr;
  if (!d)
    return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, descriptor, offset));
  // The emulated device reaches by this mapping what the host may be kept from.
  if (is_render(kind)) protection |= PROT_READ | PROT_WRITE;
  uint64_t place = static_cast<uint64_t>(offset);
  const int file = d->descriptor_at(&place);
  const long mapped = syscall(SYS_mmap, address, bytes, protection, flags, file, place);
  if (mapped != -1) d->mapped(static_cast<uint64_t>(offset), reinterpret_cast<void*>(mapped));
  return reinterpret_cast<void*>(mapped);
}

}  // namespace lockstep::interposed
