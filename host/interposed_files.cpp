#include "host/interposed_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/interposed_kernel.h"

namespace lockstep::interposed {

namespace {

struct Stream {
  const LockstepDriver* driver;
  int folder, descriptor;
  DIR* host;  // what is listed first; null: nothing
  bool host_done;
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

int number_of(const LockstepDriver& driver, const char* whole) {
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
  return kNotOurs;
}

}  // namespace

bool resolve(const LockstepDriver* driver, const char* path, bool to_its_end, char (&to)[kPathBytes]) {
  if (!path || path[0] != '/') return false;
  size_t length = 0;
  for (const char* part = path; *part;) {
    while (*part == '/') ++part;
    const size_t bytes = strcspn(part, "/");
    if (bytes == 0) break;
    const bool is_last = part[bytes + strspn(part + bytes, "/")] == 0;
    if (bytes == 2 && part[0] == '.' && part[1] == '.') {
      while (length > 0 && to[--length] != '/') {
      }
    } else if (bytes != 1 || part[0] != '.') {
      if (length + 1 + bytes + 1 > sizeof to) return false;
      to[length++] = '/';
      memcpy(to + length, part, bytes);
      length += bytes;
      to[length] = 0;
      const int file = !driver || (is_last && !to_its_end) ? kNotOurs : number_of(*driver, to);
      if (file >= 0 && driver->files[file].target) {  // which has no links in it
        length = strlen(driver->files[file].target);
        memcpy(to, driver->files[file].target, length);
      }
    }
    part += bytes;
  }
  if (length == 0) to[length++] = '/';
  to[length] = 0;
  return true;
}

int find_file(const LockstepDriver& driver, const char* path, bool to_its_end) {
  char whole[kPathBytes];
  if (!resolve(&driver, path, to_its_end, whole)) return kNotOurs;
  const int file = number_of(driver, whole);
  return file == kNotOurs && driver.is_device_path(whole) ? kMissing : file;
}

bool is_folder(const LockstepFile& file) {
  return !file.text && !file.target;
}

size_t link_text(const LockstepFile& link, char* to, size_t bytes) {
  size_t written = 0;
  const auto put = [&](const char* text, size_t count) {
    const size_t room = bytes - written < count ? bytes - written : count;
    memcpy(to + written, text, room);
    written += room;
  };
  constexpr char kRoot[] = "/sys";
  const size_t root = sizeof kRoot - 1;
  for (const char* at = strchr(link.path + root + 1, '/'); at; at = strchr(at + 1, '/')) put("../", 3);
  put(link.target + root + 1, strlen(link.target + root + 1));
  return written;
}

int open_file(const LockstepDriver& driver, int number, int flags) {
  const LockstepFile& file = driver.files[number];
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
      system_call(SYS_memfd_create, "lockstep file", kAllowSealing | (flags & O_CLOEXEC ? kCloseOnExec : 0)));
  if (memory < 0 || !file.text) return memory;
  size_t bytes = 0;
  const char* const text = driver.read(static_cast<unsigned>(number), &bytes);
  for (size_t done = 0; done < bytes;) {
    const long written = system_call(SYS_write, memory, text + done, bytes - done);
    if (written <= 0) {
      const int error = errno;
      system_call(SYS_close, memory);
      errno = error;
      return -1;
    }
    done += static_cast<size_t>(written);
  }
  system_call(SYS_lseek, memory, 0, SEEK_SET);
  system_call(SYS_fcntl, memory, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  return memory;
}

DIR* open_stream(const LockstepDriver& driver, int folder, int descriptor, DIR* host) {
  for (Stream& stream : streams) {
    if (__atomic_exchange_n(&stream.used, true, __ATOMIC_ACQUIRE)) continue;
    stream.driver = &driver;
    stream.folder = folder;
    stream.descriptor = descriptor;
    stream.host = host;
    rewind_stream(reinterpret_cast<DIR*>(&stream));
    return reinterpret_cast<DIR*>(&stream);
  }
  errno = EMFILE;
  return nullptr;
}

bool is_stream(DIR* stream) {
  const void* const place = stream;
  return place >= &streams[0] && place < &streams[kMostStreams];
}

void rewind_stream(DIR* handle) {
  Stream& stream = stream_of(handle);
  if (stream.host) next<void (*)(DIR*)>("rewinddir")(stream.host);
  stream.host_done = !stream.host;
  stream.position = 0;
}

dirent64* read_stream(DIR* handle) {
  Stream& stream = stream_of(handle);
  if (!stream.host_done) {
    if (dirent64* const entry = next<dirent64* (*)(DIR*)>("readdir64")(stream.host)) return entry;
    stream.host_done = true;
    stream.position = 2;  // "." and ".." were among these
  }
  const LockstepFile* const files = stream.driver->files;
  const char* name = nullptr;
  unsigned char kind = DT_DIR;
  if (stream.position < 2) {
    name = stream.position++ == 0 ? "." : "..";
  } else {
    // What is in a folder comes behind it.
    long at = stream.position - 2 > stream.folder ? stream.position - 2 : stream.folder + 1;
    for (; !name && at < stream.driver->file_count; ++at) {
      name = name_in(files[stream.folder].path, files[at].path);
      kind = is_folder(files[at]) ? DT_DIR : files[at].target ? DT_LNK : DT_REG;
    }
    stream.position = at + 2;
    if (!name) return nullptr;
  }
  stream.entry = {};
  stream.entry.d_ino = static_cast<ino64_t>(stream.position);
  stream.entry.d_off = stream.position;
  stream.entry.d_reclen = sizeof stream.entry;
  stream.entry.d_type = kind;
  strncpy(stream.entry.d_name, name, sizeof stream.entry.d_name - 1);
  return &stream.entry;
}

void close_stream(DIR* stream) {
  if (DIR* const host = stream_of(stream).host) next<int (*)(DIR*)>("closedir")(host);
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
