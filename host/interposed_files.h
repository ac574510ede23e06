// The driver's files and folders as programs open, list and ask for them. They are nowhere on the host, so
// nothing of them stays when a program is killed. Part of the interposer: no C++ library.
#pragma once

#include <dirent.h>
#include <stddef.h>

#include "host/driver_interface.h"

namespace lockstep::interposed {

constexpr int kPathBytes = 4096;

// What a path means: nothing of the driver's, one of its files, or a file that it would have and has not.
enum : int { kNotOurs = -1, kMissing = -2 };
int find_file(const LockstepDriver& driver, const char* path);

// The absolute path without empty parts, "." and ".."; false if it is too long or not absolute.
bool normalize(const char* path, char (&to)[kPathBytes]);

bool is_folder(const LockstepFile& file);
// A descriptor that reads the file's text, or stands for the folder; -1, and errno says why.
int open_file(const LockstepFile& file, int flags);

// Lists a folder. Streams are told from those of the C library by is_stream(); at most 256 at once.
DIR* open_stream(const LockstepDriver& driver, int folder, int descriptor);
bool is_stream(DIR* stream);
struct dirent64* read_stream(DIR* stream);
void close_stream(DIR* stream);
// -1: none was needed so far.
int& stream_descriptor(DIR* stream);
int stream_folder(DIR* stream);
long& stream_position(DIR* stream);

}  // namespace lockstep::interposed
