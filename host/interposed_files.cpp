#include "host/interposed_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lockstep::interposed {

namespace {

struct Stream {
  const LockstepDriver* driver;
  int folder, descriptor;
  long position;  // 0 and 1 are "." and "..", then files by their number
  dirent64 entry;
  bool used;
};
constexpr int kMostStreams = 256;
Stream streams[kMostStreams];

Stream& stream_of(DIR* stream) {
  return *reinterpret_cast<Stream*>(stream);
}

// The name of a file within a folder; null if it is not directly in it.
const char* name_in(const char* folder, const char* path) {
  const size_t bytes = strlen(folder);
  if (strncmp(path, folder, bytes) != 0 || path[bytes] != '/') return nullptr;
  const char* name = path + bytes + 1;
  return *name && !strchr(name, '/') ? name : nullptr;
}

}  // namespace

bool normalize(const char* path, char (&to)[kPathBytes]) {
  if (!path || path[0] != '/') return false;
  size_t length = 0;
  for (const char* part = path; *part;) {
    while (*part == '/') ++part;
    const size_t bytes = strcspn(part, "/");
    if (bytes == 0) break;
    if (bytes == 2 && part[0] == '.' && part[1] == '.') {
      while (length > 0 && to[--length] != '/') {
      }
    } else if (bytes != 1 || part[0] != '.') {
      if (length + 1 + bytes + 1 > sizeof to) return false;
      to[length++] = '/';
      memcpy(to + length, part, bytes);
      length += bytes;
    }
    part += bytes;
  }
  if (length == 0) to[length++] = '/';
  to[length] = 0;
  return true;
}

int find_file(const LockstepDriver& driver, const char* path) {
  char whole[kPathBytes];
  if (!normalize(path, whole)) return kNotOurs;
  unsigned low = 0, high = driver.file_count;
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    const int order = strcmp(driver.files[middle].path, whole);
    if (order == 0) return static_cast<int>(middle);
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return driver.is_device_path(whole) ? kMissing : kNotOurs;
}

bool is_folder(const LockstepFile& file) {
  return !file.text;
}

int open_file(const LockstepFile& file, int flags) {
  if ((flags & O_ACCMODE) != O_RDONLY) {
    errno = is_folder(file) ? EISDIR : EACCES;
    return -1;
  }
  if (flags & O_DIRECTORY && !is_folder(file)) {
    errno = ENOTDIR;
    return -1;
  }
  constexpr unsigned kCloseOnExec = 1, kAllowSealing = 2;  // MFD_*
  const int memory = static_cast<int>(
      syscall(SYS_memfd_create, "lockstep file", kAllowSealing | (flags & O_CLOEXEC ? kCloseOnExec : 0)));
  if (memory < 0 || is_folder(file)) return memory;
  for (size_t done = 0; done < file.bytes;) {
    const long written = syscall(SYS_write, memory, file.text + done, file.bytes - done);
    if (written <= 0) {
      const int error = errno;
      syscall(SYS_close, memory);
      errno = error;
      return -1;
    }
    done += static_cast<size_t>(written);
  }
  syscall(SYS_lseek, memory, 0, SEEK_SET);
  syscall(SYS_fcntl, memory, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  return memory;
}

DIR* open_stream(const LockstepDriver& driver, int folder, int descriptor) {
  for (Stream& stream : streams) {
    if (__atomic_exchange_n(&stream.used, true, __ATOMIC_ACQUIRE)) continue;
    stream.driver = &driver;
    stream.folder = folder;
    stream.descriptor = descriptor;
    stream.position = 0;
    return reinterpret_cast<DIR*>(&stream);
  }
  errno = EMFILE;
  return nullptr;
}

bool is_stream(DIR* stream) {
  const void* const place = stream;
  return place >= &streams[0] && place < &streams[kMostStreams];
}

dirent64* read_stream(DIR* handle) {
  Stream& stream = stream_of(handle);
  const LockstepFile* const files = stream.driver->files;
  const char* name = nullptr;
  bool folder = true;
  if (stream.position < 2) {
    name = stream.position++ == 0 ? "." : "..";
  } else {
    // What is in a folder comes behind it.
    long at = stream.position - 2 > stream.folder ? stream.position - 2 : stream.folder + 1;
    for (; !name && at < stream.driver->file_count; ++at) {
      name = name_in(files[stream.folder].path, files[at].path);
      folder = is_folder(files[at]);
    }
    stream.position = at + 2;
    if (!name) return nullptr;
  }
  stream.entry = {};
  stream.entry.d_ino = static_cast<ino64_t>(stream.position);
  stream.entry.d_off = stream.position;
  stream.entry.d_reclen = sizeof stream.entry;
  stream.entry.d_type = folder ? DT_DIR : DT_REG;
  strncpy(stream.entry.d_name, name, sizeof stream.entry.d_name - 1);
  return &stream.entry;
}

void close_stream(DIR* stream) {
  __atomic_store_n(&stream_of(stream).used, false, __ATOMIC_RELEASE);
}

int& stream_descriptor(DIR* stream) {
  return stream_of(stream).descriptor;
}
int stream_folder(DIR* stream) {
  return stream_of(stream).folder;
}
long& stream_position(DIR* stream) {
  return stream_of(stream).position;
}

}  // namespace lockstep::interposed
