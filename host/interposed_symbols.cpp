// Programs that look functions up in the C library itself (`ctypes.CDLL("libc.so.6").ioctl`, and other
// languages' foreign functions) get those that this library takes, as programs that are linked with them do.
#include <dlfcn.h>

#include "host/interposer.h"

namespace {

using Lookup = void* (*)(void*, const char*);

// Since glibc 2.34 it is a part of the C library; the older version is there, too.
Lookup libcs_dlsym() {
  static Lookup real;
  if (!real) real = reinterpret_cast<Lookup>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  return real;
}

void* this_library() {
  Dl_info self;
  static void* library;
  if (!library && dladdr(reinterpret_cast<void*>(&this_library), &self))
    library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  return library;
}

void* of_library(void* library, const char* name) {
  const Lookup real = libcs_dlsym();
  void* const found = real(library, name);
  if (!found) return nullptr;
  void* const libcs = real(RTLD_NEXT, name);
  void* const ours = found == libcs ? real(this_library(), name) : nullptr;
  dlerror();  // what was not found here the program has not asked for
  return ours ? ours : found;
}

}  // namespace

// The next library is one behind the caller's, so the C library must see who that is.
LOCKSTEP_TAKEN void* dlsym(void* library, const char* name) noexcept {
  const Lookup real = libcs_dlsym();
  if (library == RTLD_NEXT || library == RTLD_DEFAULT) [[clang::musttail]]
    return real(library, name);
  return of_library(library, name);
}
