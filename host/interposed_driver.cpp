#include "host/interposed_driver.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "host/interposed_files.h"
#include "host/interposed_paths.h"

namespace lockstep::interposed {
namespace {

const LockstepDriver* loaded_driver;  // null: not yet, or not to be had
pthread_once_t once = PTHREAD_ONCE_INIT;
__thread bool loading;

struct Extent {
  uintptr_t begin, end;
};
constexpr int kMostLibraries = 64;
Extent libraries[kMostLibraries];  // that came with the driver
int library_count;                 // the last of it to be written

int count_object(struct dl_phdr_info*, size_t, void* count) {
  ++*static_cast<int*>(count);
  return 0;
}

// Objects stand in the order in which they were loaded. `skipped`: how many were there before.
int note_object(struct dl_phdr_info* object, size_t, void* skipped) {
  if ((*static_cast<int*>(skipped))-- > 0) return 0;
  if (library_count == kMostLibraries) return 0;
  Extent extent = {UINTPTR_MAX, 0};
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const uintptr_t begin = object->dlpi_addr + part.p_vaddr, end = begin + part.p_memsz;
    if (begin < extent.begin) extent.begin = begin;
    if (end > extent.end) extent.end = end;
  }
  libraries[library_count] = extent;
  __atomic_store_n(&library_count, library_count + 1, __ATOMIC_RELEASE);
  return 0;
}

void load_driver() {
  Dl_info self;
  char path[kPathBytes];
  if (!dladdr(reinterpret_cast<void*>(&load_driver), &self) || !self.dli_fname) return;
  const char* slash = strrchr(self.dli_fname, '/');
  const int folder = slash ? static_cast<int>(slash - self.dli_fname + 1) : 0;
  snprintf(path, sizeof path, "%.*sliblockstep_driver.so", folder, self.dli_fname);
  // Its own calls, and those of libraries that come with it, are not the program's.
  loading = true;
  int before = 0;
  dl_iterate_phdr(count_object, &before);
  if (void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    dl_iterate_phdr(note_object, &before);
    const auto entry = reinterpret_cast<LockstepDriverEntry>(dlsym(library, LOCKSTEP_DRIVER_ENTRY));
    const LockstepDriver* driver = entry ? entry() : nullptr;
    __atomic_store_n(&loaded_driver, driver, __ATOMIC_RELEASE);
  } else {
    fprintf(stderr, "lockstep: no device: %s\n", dlerror());
  }
  loading = false;
  pthread_atfork(nullptr, nullptr, [] {
    if (loaded_driver) loaded_driver->forked();
    forget_descriptors();
  });
}

}  // namespace

const LockstepDriver* present_driver() {
  return __atomic_load_n(&loaded_driver, __ATOMIC_ACQUIRE);
}

const LockstepDriver* driver() {
  if (loading) return nullptr;
  pthread_once(&once, load_driver);
  return present_driver();
}

bool is_of_driver(const void* library) {
  if (loading) return true;
  const uintptr_t address = reinterpret_cast<uintptr_t>(library);
  const int count = __atomic_load_n(&library_count, __ATOMIC_ACQUIRE);
  for (int i = 0; i < count; ++i)
    if (address >= libraries[i].begin && address < libraries[i].end) return true;
  return false;
}

}  // namespace lockstep::interposed
