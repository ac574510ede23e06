#include "host/export_record.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace lockstep::host {

bool read_record(int descriptor, ExportRecord& record) {
  return syscall(SYS_pread64, descriptor, &record, sizeof record, 0) == sizeof record &&
         record.magic == kExportMagic;
}

bool read_metadata(int descriptor, ExportMetadata& metadata) {
  return syscall(SYS_pread64, descriptor, &metadata, sizeof metadata, sizeof(ExportRecord)) ==
             sizeof metadata &&
         metadata.bytes <= sizeof metadata.data;
}

bool write_metadata(int descriptor, const ExportMetadata& metadata) {
  return syscall(SYS_pwrite64, descriptor, &metadata, sizeof metadata, sizeof(ExportRecord)) ==
         sizeof metadata;
}

int open_of_process(uint32_t process, int descriptor) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%u/fd/%d", process, descriptor);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0));
}

// One who writes alone can have a lease for that. Whoever opens the file just then waits until it is given
// back, and the process is sent a signal, which would end it if it were not one that is ignored.
bool is_held_by_others(int descriptor) {
  syscall(SYS_fcntl, descriptor, F_SETSIG, SIGURG);
  if (syscall(SYS_fcntl, descriptor, F_SETLEASE, F_WRLCK) != 0) return errno == EAGAIN;
  syscall(SYS_fcntl, descriptor, F_SETLEASE, F_UNLCK);
  return false;
}

int open_exported(const ExportRecord& record) {
  const int file = open_of_process(record.process, record.store);
  if (file < 0)
    std::fprintf(stderr,
                 "lockstep: the memory that process %u has exported is not to be had (%s): the process must "
                 "still run, and be the same user's\n",
                 record.process, std::strerror(errno));
  return file;
}

}  // namespace lockstep::host
