// The driver's files and folders as programs open, list and ask for them. They are nowhere on the host, so
// nothing of them stays when a program is killed. Part of the interposer: no C++ library.
#pragma once

#include <dirent.h>
#include <dlfcn.h>
#include <stddef.h>

#include "host/driver_interface.h"

namespace lockstep::interposed {

constexpr int kPathBytes = 4096;

// The C library's own function of a name.
template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// What a path means: nothing of the driver's, one of its files, or a file that it would have and has not.
enum : int { kNotOurs = -1, kMissing = -2 };
// The path without empty parts, "." and "..", and without links of the driver's, if that is given, on the way
// and, if `to_its_end`, at its end; false if it is too long or not absolute.
bool resolve(const LockstepDriver* driver, const char* path, bool to_its_end, char (&to)[kPathBytes]);
// Links are followed likewise.
int find_file(const LockstepDriver& driver, const char* path, bool to_its_end = true);

bool is_folder(const LockstepFile& file);
// A descriptor that reads the file's text, or stands for the folder or the link itself; -1, and errno says
// why.
int open_file(const LockstepDriver& driver, int file, int flags);
// What a link says: the way from its folder, as the kernel's links do. How many bytes of it were written.
size_t link_text(const LockstepFile& link, char* to, size_t bytes);

// Lists a folder, behind what `host`, if not null, lists. Streams are told from those of the C library by
// is_stream(); at most 256 at once.
DIR* open_stream(const LockstepDriver& driver, int folder, int descriptor, DIR* host);
bool is_stream(DIR* stream);
struct dirent64* read_stream(DIR* stream);
void close_stream(DIR* stream);
void rewind_stream(DIR* stream);
// -1: none was needed so far.
int& stream_descriptor(DIR* stream);
int stream_folder(DIR* stream);
long& stream_position(DIR* stream);

}  // namespace lockstep::interposed
